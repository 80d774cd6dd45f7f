package interop

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/storage"
)

// store is a store that both sides write to, and what it must hold.
type store struct {
	Name, Kind string
	threshold  *int64 // nil: all is embedded
	leaves     map[string]frame
	vlmeta     map[string][]byte // of the root of a tree
}

// storeJob is what is done to a store: keys that are deleted, then leaves and
// metadata that are set; then, with the name of a zip, packing.
type storeJob struct {
	Name      string            `json:"name"`
	Kind      string            `json:"kind"`
	Threshold *int64            `json:"threshold"`
	Delete    []string          `json:"delete"`
	Leaves    []leaf            `json:"leaves"`
	VLMeta    map[string][]byte `json:"vlmeta"`
	Zip       string            `json:"zip"`
}

// leaf is a contiguous frame under a key.
type leaf struct {
	Key   string `json:"key"`
	Frame []byte `json:"frame"`
}

func (s *store) job() storeJob {
	return storeJob{Name: s.Name, Kind: s.Kind, Threshold: s.threshold}
}

func newStores() []*store {
	var stores []*store
	add := func(kind, name string, threshold *int64) {
		stores = append(stores, &store{Name: name, Kind: kind, threshold: threshold, leaves: map[string]frame{}, vlmeta: map[string][]byte{}})
	}
	zero, some := int64(0), int64(3000)
	add("embedstore", "e.b2e", nil)
	add("dictstore", "files.b2d", &zero)
	add("dictstore", "some.b2d", &some)
	add("dictstore", "embedded.b2d", nil)
	add("treestore", "tree.b2d", &zero)
	add("treestore", "embeddedtree.b2d", nil)
	return stores
}

// fresh makes a leaf: an array or a sequence of items, of 8 bytes to some
// dozen chunks of an embedded store.
func fresh(t *testing.T, r *rand.Rand) (frame, []byte) {
	var f frame
	if r.IntN(2) == 0 {
		n := 1 + r.Int64N(300)
		f = arrayOf(r, t, "<i4", []int64{n, 1 + r.Int64N(30)}, []int64{n, 1}, []int64{n/2 + 1, 1})
		f.ChunkShape[1] = f.Shape[1]
	} else {
		f.settings.TypeSize, f.ChunkSize = 4, 4000
		f.Ops = appends(items(r, r.IntN(6), 4, 4000), items(r, r.IntN(6), 4, 4+4*r.IntN(900)))
	}
	f.settings.Codec, f.settings.Level, f.settings.Filters = blosc.LZ4, 5, pipelines[1].filters
	f.params, f.Name = asParams(f.settings), "leaf"
	fs := storage.NewMemoryFS(0)
	require.NoError(t, f.make(t.Context(), fs))
	file, err := fs.Open(t.Context(), f.Name, storage.OpenRead)
	require.NoError(t, err)
	defer file.Close()
	info, err := file.Stat()
	require.NoError(t, err)
	b := make([]byte, info.Size)
	_, err = file.ReadAt(b, 0)
	require.NoError(t, err)
	return f, b
}

// turn is some changes of the store; first: it is empty.
func (s *store) turn(t *testing.T, r *rand.Rand, first bool) storeJob {
	job := s.job()
	keys := slices.Sorted(maps.Keys(s.leaves))
	put := func(key string) {
		f, b := fresh(t, r)
		s.leaves[key] = f
		job.Leaves = append(job.Leaves, leaf{key, b})
	}
	if first {
		for _, key := range []string{"/a", "/dir/b", "/dir/sub/c", "/añ 🐉", "/dir/b.2", "/z"} {
			put(key)
		}
		return job
	}
	gone := keys[r.IntN(len(keys))]
	delete(s.leaves, gone)
	job.Delete = []string{gone}
	put(fmt.Sprintf("/more/%d", r.IntN(1<<30)))
	put(gone) // another one under the same key
	if s.Kind != "embedstore" {
		over := keys[r.IntN(len(keys))]
		if over != gone {
			put(over)
		}
	}
	if s.Kind == "treestore" {
		name, value := fmt.Sprintf("v%d", r.IntN(3)), append([]byte{0xa0 + byte(len(keys))}, strings.Repeat("x", len(keys))...)
		s.vlmeta[name] = value
		job.VLMeta = map[string][]byte{name: value}
	}
	return job
}

// here does a job here.
func (j *storeJob) here(ctx context.Context, fs storage.FS) error {
	var c blosc2.Container
	var err error
	threshold := int64(-1)
	if j.Threshold != nil {
		threshold = *j.Threshold
	}
	if j.Kind == "embedstore" {
		if c, err = blosc2.Open(ctx, fs, j.Name, writing); err != nil {
			c, err = blosc2.CreateEmbedStore(ctx, fs, j.Name, writing)
		}
	} else {
		c, err = blosc2.CreateStore(ctx, fs, j.Name, blosc2.StoreSpec{Tree: j.Kind == "treestore", Threshold: threshold, OrOpen: true}, writing)
	}
	if err != nil {
		return err
	}
	var dict *blosc2.DictStore
	var to interface {
		Put(ctx context.Context, key string, c blosc2.Container) error
	}
	var remove func(ctx context.Context, key string) error
	switch c := c.(type) {
	case *blosc2.EmbedStore:
		to, remove = c, c.Delete
	case *blosc2.DictStore:
		to, remove, dict = c, c.Delete, c
	case *blosc2.TreeStore:
		to, remove, dict = c, c.DictStore().Delete, c.DictStore()
	}
	for _, key := range j.Delete {
		if err := remove(ctx, key); err != nil {
			return err
		}
	}
	for _, l := range j.Leaves {
		frame, err := blosc2.OpenBytes(ctx, l.Frame, l.Key, blosc2.Options{})
		if err != nil {
			return err
		}
		if err := to.Put(ctx, l.Key, frame); err != nil {
			return err
		}
	}
	for name, value := range j.VLMeta {
		if err := c.(*blosc2.TreeStore).SetVLValue(ctx, "/", name, value); err != nil {
			return err
		}
	}
	if j.Zip != "" {
		if err := dict.ToB2Z(ctx, fs, j.Zip, true); err != nil {
			return err
		}
	}
	return c.Close()
}

// lookAt reads a store here.
func (s *store) lookAt(t *testing.T, fs storage.FS, name string) outcome {
	t.Helper()
	ctx := t.Context()
	c, err := blosc2.Open(ctx, fs, name, blosc2.Options{})
	require.NoError(t, err, name)
	defer func() { require.NoError(t, c.Close()) }()
	require.Equal(t, s.Kind, c.Kind())
	var keys []string
	var get func(ctx context.Context, key string) (blosc2.Container, error)
	got := outcome{Leaves: map[string]state{}}
	got.VLMeta = map[string][]byte{}
	switch c := c.(type) {
	case *blosc2.EmbedStore:
		keys, err = c.Keys(ctx)
		get = c.Get
	case *blosc2.DictStore:
		keys, err = c.Keys(ctx)
		get = c.Get
	case *blosc2.TreeStore:
		keys, err = c.Leaves(ctx)
		get = c.Get
		meta, err := c.VLMeta(ctx, "/")
		require.NoError(t, err)
		if meta != nil {
			of, err := stateOf(ctx, meta)
			require.NoError(t, err)
			got.VLMeta = of.VLMeta
			require.NoError(t, meta.Close())
		}
	}
	require.NoError(t, err)
	for _, key := range keys {
		leaf, err := get(ctx, key)
		require.NoError(t, err, key)
		got.Leaves[key], err = stateOf(ctx, leaf)
		require.NoError(t, err, key)
		require.NoError(t, leaf.Close())
	}
	return got
}

// same compares what was found in the store with what it must hold.
func (s *store) same(t *testing.T, got outcome, label string) {
	t.Helper()
	require.Empty(t, got.Refused, label)
	require.ElementsMatch(t, slices.Collect(maps.Keys(s.leaves)), slices.Collect(maps.Keys(got.Leaves)), label)
	for key, f := range s.leaves {
		same(t, f.want(), outcome{state: got.Leaves[key]}, label+": "+key)
	}
	require.Equal(t, s.vlmeta, got.VLMeta, label)
}

// Stores of each kind are made by one side and changed by both in turn, then
// packed by either: both read all of it.
func TestBlosc2Stores(t *testing.T) {
	p := pythonBlosc2(t)
	r := rand.New(rand.NewPCG(9, 10))
	for _, theirs := range []bool{false, true} {
		dir, fs := folderFS(t)
		stores := newStores()
		do := func(theirs bool, jobs []storeJob) {
			if theirs {
				for i, said := range p.jobs(t, "store", dir, jobs) {
					require.Empty(t, said.Refused, jobs[i].Name)
				}
				return
			}
			for _, j := range jobs {
				require.NoError(t, j.here(t.Context(), fs), j.Name)
			}
		}
		check := func(label string, nameOf func(s *store) string) {
			var jobs []storeJob
			var are []*store
			for _, s := range stores {
				if name := nameOf(s); name != "" {
					job := s.job()
					job.Name = name
					jobs, are = append(jobs, job), append(are, s)
				}
			}
			for i, got := range p.jobs(t, "store_state", dir, jobs) {
				are[i].same(t, got, label+", read there: "+jobs[i].Name)
				are[i].same(t, are[i].lookAt(t, fs, jobs[i].Name), label+", read here: "+jobs[i].Name)
			}
		}
		asIs := func(s *store) string { return s.Name }
		zipped := func(by bool) func(s *store) string {
			return func(s *store) string {
				if s.Kind == "embedstore" {
					return ""
				}
				return fmt.Sprintf("%s-%v.b2z", strings.TrimSuffix(s.Name, filepath.Ext(s.Name)), by)
			}
		}
		side := theirs
		for turn := range 4 {
			var jobs []storeJob
			for _, s := range stores {
				jobs = append(jobs, s.turn(t, r, turn == 0))
			}
			do(side, jobs)
			check(fmt.Sprintf("made there %v, turn %d", theirs, turn), asIs)
			side = !side
		}
		for _, by := range []bool{false, true} {
			var jobs []storeJob
			for _, s := range stores {
				if job := s.job(); zipped(by)(s) != "" {
					job.Zip = zipped(by)(s)
					jobs = append(jobs, job)
				}
			}
			do(by, jobs)
			check(fmt.Sprintf("packed there %v", by), zipped(by))
		}
		// The peer unpacks what we packed, and packs it again with more in it.
		var more []storeJob
		for _, s := range stores {
			if job := s.turn(t, r, false); s.Kind != "embedstore" {
				job.Name = zipped(false)(s)
				more = append(more, job)
			}
		}
		do(true, more)
		check("packed again", zipped(false))
	}
}
