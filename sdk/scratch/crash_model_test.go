package scratch

import (
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridhold/gridhold/internal/faultfs"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/storage"
)

// A scratch is read by random processes while its sources change, its disk
// fails, processes die and the power is cut. Whatever happens, each image that
// is read is the one that its source holds, and a disk that fails keeps none
// from being read.

// user is a process that has a scratch open.
type user struct {
	ports   *faultfs.Faults
	plan    faultfs.Plan
	hit     faultfs.Op
	scratch *ImageScratch
	set     int
}

type workshop struct {
	t         testing.TB
	directory bool
	o         Options
	clock     *storage.ManualClock
	sources   *storage.MemoryFS
	raw       *raw
	versions  map[string]int
	counts    map[string]int64
	disk      *faultfs.Disk
	users     []*user
}

const side = 6 // pixels of an image: runs do not fall on sectors

// sets are what scratches are made of; in a directory they share images.
func (w *workshop) locations(set int) *image.ImageLocationGrouping {
	if set == 0 {
		return group(w.t, images("a"), images("b", 1, 2, 5))
	}
	return group(w.t, images("b", 0, 1, 2, 3), images("c"))
}

func newWorkshop(t testing.TB, rt *rapid.T, directory bool) *workshop {
	w := &workshop{t: t, directory: directory, sources: storage.NewMemoryFS(0), versions: map[string]int{}, counts: map[string]int64{"a": 7, "b": 6, "c": 4}}
	w.clock = storage.NewManualClock(time.Now().Add(time.Hour))
	w.clock.Skip()
	w.o = Options{
		Clock: w.clock, Revalidate: 1, Parallel: 1,
		Durable: rapid.Bool().Draw(rt, "durable"),
		Verify:  rapid.SampledFrom([]VerifyWhen{VerifyFirst, VerifyRestart, VerifyAlways}).Draw(rt, "verify"),
		Boot:    "0",
	}
	w.raw = &raw{fs: w.sources, rows: side, cols: side}
	for key := range w.counts {
		w.write(key, false)
	}
	w.disk = faultfs.NewDisk(0)
	for range 2 {
		r := &user{set: 0}
		if directory {
			r.set = rapid.IntRange(0, 1).Draw(rt, "set")
		}
		w.users = append(w.users, r)
		w.start(r)
	}
	return w
}

// pixels are those of images of a version of a source.
func (w *workshop) pixels(key string, version int, first, n int64) string {
	d := desk{raw: w.raw}
	var indices []int64
	for i := range n {
		indices = append(indices, first+i)
	}
	return string(d.pixels(key, version, indices...))
}

// write gives a source other pixels: in its file, or in another of its name.
func (w *workshop) write(key string, renamed bool) {
	name := key
	if renamed {
		name = key + ".new"
	}
	f, err := w.sources.Open(ctx, name, readWrite|storage.OpenCreate)
	if err == nil {
		_, err = f.WriteAt([]byte(w.pixels(key, w.versions[key], 0, w.counts[key])), 0)
	}
	if err == nil {
		err = f.Close()
	}
	if err == nil && renamed {
		err = w.sources.Rename(ctx, name, key)
	}
	if err != nil {
		panic(err)
	}
}

// start is a new process.
func (w *workshop) start(r *user) {
	r.plan, r.scratch = nil, nil
	r.ports = faultfs.New(func(op faultfs.Op) (f faultfs.Fault) {
		if r.plan != nil {
			f = r.plan(op)
		}
		if f.Kill || f.Err != nil {
			r.hit = op
		}
		return f
	})
}

func (w *workshop) open(r *user) (err error) {
	fs := r.ports.FS(w.disk)
	if w.directory {
		r.scratch, err = CreateDirectoryImageScratch(ctx, w.locations(r.set), fs, "dir", 2, Everything, w.raw, w.o)
	} else {
		r.scratch, err = CreateMappedFileImageScratch(ctx, w.locations(r.set), fs, "scr", 2, Everything, w.raw, w.o)
	}
	return err
}

// drawPlan draws what goes wrong: "" is nothing.
func (w *workshop) drawPlan(t *rapid.T, meanwhile func()) (kind string, plan faultfs.Plan) {
	kind = rapid.SampledFrom([]string{"", "", "meanwhile", "meanwhile", "kill", "kill", "cut", "cut", "ENOSPC", "EIO", "ESTALE", "EROFS", "EMFILE", "EDQUOT", "EAGAIN", "EFBIG"}).Draw(t, "mishap")
	n := rapid.IntRange(0, 12).Draw(t, "after")
	done := rapid.SampledFrom([]int64{0, 0, 1, 100, faultfs.Whole}).Draw(t, "done")
	switch kind {
	case "":
		return kind, nil
	case "meanwhile":
		return kind, faultfs.Nth(n, faultfs.Fault{Before: meanwhile})
	case "kill", "cut":
		return kind, faultfs.Nth(n, faultfs.Fault{Kill: true, Done: done}, append([]faultfs.Kind{faultfs.Sync, faultfs.SyncDir}, faultfs.Changes...)...)
	}
	many := rapid.Bool().Draw(t, "from then on")
	return kind, func(op faultfs.Op) (f faultfs.Fault) {
		if op.Kind == faultfs.Close || op.Kind == faultfs.Unlock {
			return f
		}
		if n--; n == -1 || many && n < 0 {
			f.Err, f.Done = faultfs.Errno(kind), done
		}
		return f
	}
}

// act does something in a process, while something goes wrong with its disk.
func (w *workshop) act(t *rapid.T, r *user, what string, mayFail bool, do func() error) {
	w.clock.Advance(time.Second)
	kind, plan := w.drawPlan(t, func() {
		for _, other := range w.users {
			if other != r && other.scratch != nil { // in the middle of whatever r does
				w.read(t, other)
			}
		}
	})
	r.plan, r.hit = plan, faultfs.Op{}
	err := do()
	r.plan = nil
	t.Logf("%s: %v; %s at %+v", what, err, kind, r.hit)
	dead := r.ports.Dead()
	if err != nil && !dead && !(mayFail && kind != "") {
		t.Fatalf("%s: %v", what, err)
	}
	if !dead {
		return
	}
	w.start(r)
	if kind == "cut" {
		w.cut(t)
	}
}

func (w *workshop) reads(t *rapid.T) {
	r := w.users[rapid.IntRange(0, 1).Draw(t, "by")]
	if r.scratch == nil {
		w.act(t, r, "open", true, func() error { return w.open(r) })
		return
	}
	what, read := w.drawRead(t, r)
	w.act(t, r, what, false, read)
}

// read reads something, with nothing going wrong.
func (w *workshop) read(t *rapid.T, r *user) {
	what, read := w.drawRead(t, r)
	if err := read(); err != nil {
		t.Fatalf("%s meanwhile: %v", what, err)
	}
}

func (w *workshop) drawRead(t *rapid.T, r *user) (what string, read func() error) {
	keys := [][]string{{"a", "b"}, {"b", "c"}}[r.set]
	key := rapid.SampledFrom(keys).Draw(t, "key")
	first := rapid.Int64Range(0, w.counts[key]-1).Draw(t, "first")
	n := rapid.Int64Range(1, w.counts[key]-first).Draw(t, "images")
	what = fmt.Sprintf("read %s %d+%d", key, first, n)
	return what, func() error {
		got := make([]byte, n*4*side*side)
		if err := r.scratch.ReadImages(ctx, key, got, first); err != nil {
			return err
		}
		if want := w.pixels(key, w.versions[key], first, n); string(got) != want {
			for v := range w.versions[key] {
				if string(got) == w.pixels(key, v, first, n) {
					t.Fatalf("%s: version %d, want %d", what, v, w.versions[key])
				}
			}
			t.Fatalf("%s: no pixels of any version", what)
		}
		return nil
	}
}

func (w *workshop) changes(t *rapid.T) {
	key := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "key")
	w.versions[key]++
	w.write(key, rapid.Bool().Draw(t, "renamed"))
}

func (w *workshop) closes(t *rapid.T) {
	r := w.users[rapid.IntRange(0, 1).Draw(t, "which")]
	if r.scratch != nil {
		if err := r.scratch.Close(); err != nil {
			t.Fatalf("closing: %v", err)
		}
		r.scratch = nil
	}
}

func (w *workshop) cut(t *rapid.T) {
	seed := rapid.Uint64().Draw(t, "what the cut leaves")
	for _, r := range w.users {
		r.ports.Kill()
		w.start(r)
	}
	w.disk = w.disk.Cut(rand.New(rand.NewPCG(seed, 0)))
	w.o.Boot += "0"
}

// tidy opens a scratch with nothing going wrong, after which nothing is left
// of those who died.
func (w *workshop) tidy(t *rapid.T) {
	for _, r := range w.users {
		if r.scratch != nil {
			r.ports.Kill()
			w.start(r)
		}
	}
	if !w.directory {
		_ = w.disk.Remove(ctx, "scr") // who makes one sweeps, not who goes on with one
	}
	for _, r := range w.users {
		if err := w.open(r); err != nil {
			t.Fatalf("opening it: %v", err)
		}
	}
	dir := ""
	if w.directory {
		dir = "dir"
	}
	names, err := w.disk.List(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	if left := slices.DeleteFunc(names, func(name string) bool {
		return !w.directory && name == "scr" || w.directory && !strings.HasPrefix(name, ".") && strings.HasSuffix(name, suffix) || name == lockName
	}); len(left) > 0 {
		t.Fatalf("left behind: %v", left)
	}
	for _, name := range names {
		if !strings.HasSuffix(name, suffix) && name != "scr" {
			continue
		}
		if _, err := Verify(ctx, w.disk, path.Join(dir, name), func(d Damage) {}, nil); err != nil {
			t.Fatalf("verifying %s: %v", name, err)
		}
	}
}

func TestModelOfScratches(t *testing.T) {
	for _, directory := range []bool{false, true} {
		t.Run(map[bool]string{false: "file", true: "directory"}[directory], func(t *testing.T) {
			faultfs.Check(t, func(rt *rapid.T) {
				w := newWorkshop(t, rt, directory)
				defer func() {
					for _, r := range w.users {
						r.ports.Kill()
					}
				}()
				rt.Repeat(map[string]func(*rapid.T){
					"read": w.reads, "read again": w.reads, "read once more": w.reads, "change": w.changes, "close": w.closes, "cut": w.cut, "tidy": w.tidy,
				})
			})
		})
	}
}
