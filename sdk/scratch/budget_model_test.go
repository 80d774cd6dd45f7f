//go:build unix

package scratch

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridhold/gridhold/internal/faultfs"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/storage"
)

// A directory of scratches is used by several jobs, with budgets that differ,
// some of which are killed; between them lie files of others. A plain model
// says which scratches are there, which go, and how much each may hold.

// room is a directory and the model of it.
type room struct {
	*desk
	dir     string
	o       Options
	clock   *storage.ManualClock
	sets    []*image.ImageLocationGrouping
	names   []string // of the files of the sets
	jobs    []*lessee
	there   map[int]*lodger // by set
	foreign map[string][]byte
	most    int64 // the largest budget that anybody had
}

// lessee is a process with at most one scratch.
type lessee struct {
	ports   *faultfs.Faults
	plan    faultfs.Plan
	scratch *ImageScratch
	set     int
}

// lodger is a scratch of the directory.
type lodger struct {
	used  int64 // the clock, when it was last
	quota int64 // that its file tells
}

const (
	budgetSets  = 4
	setPixels   = 16 * page
	setOverhead = setBytes - setPixels
	noted       = 2 * time.Minute // after which a use is noted again
)

func newRoom(d *desk, t *rapid.T, dir string, sets []*image.ImageLocationGrouping) *room {
	r := &room{desk: d, dir: dir, sets: sets, there: map[int]*lodger{}, clock: storage.NewManualClock(time.Now())}
	r.clock.Skip()
	r.o = Options{Clock: r.clock, Boot: "0", Parallel: 1, NoMap: rapid.Bool().Draw(t, "no map")}
	for _, g := range sets {
		r.names = append(r.names, (&builder{locations: g, runLength: 2}).fileName())
	}
	for range 3 {
		r.jobs = append(r.jobs, r.start(new(lessee)))
	}
	r.foreign = map[string][]byte{
		"notes.txt": []byte("mine"), "mine" + suffix: bytes.Repeat([]byte("m"), 3*page), "empty" + suffix: {},
		"." + strings.Repeat("0", 32) + suffix + ".tmp-0": []byte("too short a tail"),
	}
	if err := os.Mkdir(filepath.Join(d.dir, dir), 0o777); err != nil {
		t.Fatal(err)
	}
	for name, b := range r.foreign {
		if err := os.WriteFile(filepath.Join(d.dir, dir, name), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func (r *room) start(j *lessee) *lessee {
	*j = lessee{}
	j.ports = faultfs.New(func(op faultfs.Op) (f faultfs.Fault) {
		if j.plan != nil {
			f = j.plan(op)
		}
		return f
	})
	return j
}

// allocated is what a set's file takes; there: there is one.
func (r *room) allocated(set int) (n int64, there bool) {
	info, err := r.fs.Stat(ctx, join(r.dir, r.names[set]))
	return info.Allocated, err == nil
}

func (r *room) inUse(set int) bool {
	return slices.ContainsFunc(r.jobs, func(j *lessee) bool { return j.scratch != nil && j.set == set && j.scratch.name != "" })
}

// takes is what a scratch counts for: as much as it may grow to while it is in
// use.
func (r *room) takes(set int) int64 {
	n, _ := r.allocated(set)
	if r.inUse(set) {
		n = max(n, setOverhead+min(r.there[set].quota, setPixels))
	}
	return n
}

// eviction predicts which scratches go, in this order, until the others but
// one take at most some bytes, and what they take then.
func (r *room) eviction(but int, bytes int64) (gone []int, taken int64) {
	var others []int
	for set := range r.there {
		if set != but {
			others = append(others, set)
			taken += r.takes(set)
		}
	}
	slices.SortFunc(others, func(a, b int) int { // those whose makers died before they used them go first
		return cmp.Or(cmp.Compare(r.there[a].used, r.there[b].used), cmp.Compare(r.names[a], r.names[b]))
	})
	for _, set := range others {
		if taken <= bytes {
			break
		}
		if !r.inUse(set) {
			gone = append(gone, set)
			taken -= r.takes(set)
		}
	}
	return gone, taken
}

func (r *room) now() int64 { return r.clock.Now().UnixNano() }

// creates has a job make, or go on with, a scratch.
func (r *room) creates(t *rapid.T) {
	j := r.jobs[rapid.IntRange(0, len(r.jobs)-1).Draw(t, "by")]
	if j.scratch != nil {
		r.closed(t, j)
	}
	r.clock.Advance(noted)
	set := rapid.IntRange(0, budgetSets-1).Draw(t, "set")
	budget := rapid.SampledFrom([]int64{6, 7, 15, 21, 24, 30, 42, 55, 63, 1000}).Draw(t, "pages") * page
	r.most = max(r.most, budget)
	var gone []int
	taken := int64(0)
	enough := budget >= setOverhead+2*page
	if enough {
		gone, taken = r.eviction(set, budget-setBytes)
	}
	quota := min(budget-taken-setOverhead, setPixels)
	before, had := r.there[set]
	alone := !r.inUse(set)

	if n := rapid.IntRange(-20, 30).Draw(t, "killed after"); n >= 0 {
		j.plan = faultfs.Nth(n, faultfs.Fault{Kill: true, Done: rapid.SampledFrom([]int64{0, 1, faultfs.Whole}).Draw(t, "done")},
			append([]faultfs.Kind{faultfs.Sync, faultfs.SyncDir, faultfs.LockRange, faultfs.Unlock}, faultfs.Changes...)...)
	}
	s, err := CreateDirectoryImageScratch(ctx, r.sets[set], j.ports.FS(r.fs), r.dir, 2, budget, r.raw, r.o)
	j.plan = nil
	t.Logf("%d of %d pages: %v; gone %v, quota %d", set, budget/page, err, gone, quota/page)
	if j.ports.Dead() {
		r.start(j)
		r.after(t, set, gone)
		return
	}
	if !enough {
		if !errors.Is(err, fault.ErrInvalid) {
			t.Fatalf("%d bytes are enough: %v", budget, err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range gone {
		delete(r.there, set)
	}
	j.scratch, j.set = s, set
	if held := max(min(quota, setPixels), 0); s.Stats().Budget != held {
		t.Fatalf("it may hold %d bytes, want %d", s.Stats().Budget, held)
	}
	switch {
	case had:
		if quota = max(quota, 0); !alone {
			quota = max(quota, before.quota)
		}
		r.there[set] = &lodger{r.now(), quota}
	case quota >= 0:
		r.there[set] = &lodger{r.now(), quota}
	default:
		if s.name != "" {
			if _, there := r.allocated(set); there {
				t.Fatal("there is a file for which there is no room")
			}
			s.name = "" // nothing in the directory is its
		}
	}
	r.within(t, set, alone, budget)
}

// within holds what all may grow to against the budget of a scratch that was
// just made: it is more only by what others use.
func (r *room) within(t *rapid.T, set int, alone bool, budget int64) {
	all, used := int64(0), int64(0)
	for other := range r.there {
		n := r.takes(other)
		all += n
		switch {
		case other == set && alone:
			used += setOverhead // which stays when there is no room for more
		case r.inUse(other):
			used += n
		}
	}
	if all > max(budget, used) {
		t.Fatalf("all may grow to %d pages, %d of which others use: more than %d", all/page, used/page, budget/page)
	}
}

// after brings the model up to date when a job died while it made a scratch:
// of those that were to go some may be gone, in their order, and its own may
// be there.
func (r *room) after(t *rapid.T, set int, gone []int) {
	for i, other := range gone {
		if _, there := r.allocated(other); !there {
			delete(r.there, other)
		} else if i+1 < len(gone) {
			if _, there := r.allocated(gone[i+1]); !there {
				t.Fatalf("%d went before %d", gone[i+1], other)
			}
		}
	}
	f, err := r.fs.Open(ctx, join(r.dir, r.names[set]), storage.OpenRead)
	if errors.Is(err, fault.ErrNotFound) {
		if _, had := r.there[set]; had {
			t.Fatalf("%d is gone, which was to stay", set)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	shelf := fileShelf{f: f}
	used, err := shelf.number(atUsed)
	quota, err2 := shelf.number(atQuota)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	r.there[set] = &lodger{int64(used), int64(quota)}
}

// reads reads images, whatever became of the scratch.
func (r *room) reads(t *rapid.T) {
	j := r.jobs[rapid.IntRange(0, len(r.jobs)-1).Draw(t, "by")]
	if j.scratch == nil {
		t.Skip()
	}
	r.clock.Advance(noted)
	first := rapid.Int64Range(0, 15).Draw(t, "first")
	n := rapid.Int64Range(1, 16-first).Draw(t, "images")
	key := string(rune('a' + j.set))
	got, filled := make([]byte, n*page), j.scratch.Stats().Filled
	if err := j.scratch.ReadImages(ctx, key, got, first); err != nil {
		t.Fatal(err)
	}
	var indices []int64
	for i := range n {
		indices = append(indices, first+i)
	}
	if !bytes.Equal(got, r.pixels(key, 0, indices...)) {
		t.Fatalf("%s %d+%d: other pixels", key, first, n)
	}
	if j.scratch.Stats().Filled > filled { // of reading alone it is noted now and then
		r.there[j.set].used = r.now()
	}
}

func (r *room) closed(t *rapid.T, j *lessee) {
	r.clock.Advance(noted)
	if j.scratch.name != "" {
		r.there[j.set].used = r.now()
	}
	if err := j.scratch.Close(); err != nil {
		t.Fatal(err)
	}
	j.scratch = nil
}

// ends closes a scratch, or kills its job.
func (r *room) ends(t *rapid.T) {
	j := r.jobs[rapid.IntRange(0, len(r.jobs)-1).Draw(t, "which")]
	if j.scratch == nil {
		t.Skip()
	}
	if rapid.Bool().Draw(t, "killed") {
		j.ports.Kill()
		r.start(j)
		return
	}
	r.closed(t, j)
}

func (r *room) collects(t *rapid.T) {
	budget := rapid.SampledFrom([]int64{0, 21, 42, 50}).Draw(t, "pages") * page
	gone, taken := r.eviction(-1, budget)
	c, err := Collect(ctx, r.fs, r.dir, budget, r.o)
	if err != nil {
		t.Fatal(err)
	}
	removed := slices.DeleteFunc(c.Removed, func(name string) bool { return strings.Contains(name, ".tmp-") })
	var want []string
	for _, set := range gone {
		want = append(want, join(r.dir, r.names[set]))
		delete(r.there, set)
	}
	if !slices.Equal(removed, want) || c.Taken != taken {
		t.Fatalf("collected %v and left %d, want %v and %d", removed, c.Taken, want, taken)
	}
}

// agrees holds the directory against the model.
func (r *room) agrees(t *rapid.T) {
	taken := int64(0)
	for set := range r.names {
		n, there := r.allocated(set)
		if taken += n; there != (r.there[set] != nil) {
			t.Fatalf("%d is there: %t; of the model: %t", set, there, !there)
		}
	}
	if taken > r.most {
		t.Fatalf("all take %d pages, and nobody had more than %d", taken/page, r.most/page)
	}
	for name, want := range r.foreign {
		got, err := os.ReadFile(filepath.Join(r.desk.dir, r.dir, name))
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%s, which is of others: %v", name, err)
		}
	}
}

func TestModelOfBudgets(t *testing.T) {
	d := newDesk(t, 32, 32)
	sets := d.sets(budgetSets)
	n := 0
	faultfs.Check(t, func(rt *rapid.T) {
		n++
		r := newRoom(d, rt, fmt.Sprint("dir", n), sets)
		defer os.RemoveAll(filepath.Join(d.dir, r.dir))
		defer func() {
			for _, j := range r.jobs {
				j.ports.Kill()
			}
		}()
		rt.Repeat(map[string]func(*rapid.T){
			"create": r.creates, "create again": r.creates, "read": r.reads, "read more": r.reads, "end": r.ends, "collect": r.collects, "": r.agrees,
		})
	})
}
