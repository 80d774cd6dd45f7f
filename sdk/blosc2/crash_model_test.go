package blosc2_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"path"
	"reflect"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/gridhold/gridhold/internal/faultfs"
	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/storage"
)

// A container, written to by random operations at which things go wrong, is
// held against a plain state in memory. After a failure, or the death of a
// process in the middle of an operation, there is the state before it or the
// one after; after a power cut, one that Options.Durability allows.

// subject is a kind of container, and S what it holds. States are values:
// nothing changes one.
type subject[S any] struct {
	name   string // of the container on the disk
	empty  S
	create func(ctx context.Context, fs storage.FS, o blosc2.Options) error
	open   func(ctx context.Context, fs storage.FS, o blosc2.Options) (blosc2.Container, error) // nil: blosc2.Open
	// draw picks an operation that the state allows.
	draw func(t *rapid.T, s S) act[S]
	// holds reads all of a container and tells how it differs.
	holds func(ctx context.Context, c blosc2.Container, s S) error
	// litter returns which of the files on the disk have no business there.
	litter func(files []string, s S) []string
	// snapshot returns nil where there is nothing to take.
	snapshot func(ctx context.Context, c blosc2.Container) (blosc2.Container, error)
	// pack writes all of it to the file name.b2z; nil: there is no such thing.
	pack func(ctx context.Context, fs storage.FS, c blosc2.Container) error
}

// act is one operation and what it leads to.
type act[S any] struct {
	what string
	do   func(ctx context.Context, c blosc2.Container) error
	next S
	// between are the states on the way, of an operation of several commits.
	between []S
	// apply is what it does to another state, where parts of a container are
	// committed apart; nil: it commits all of it.
	apply func(s S) S
	// alone: it waits for the snapshots of its process.
	alone bool
	// idle: it commits nothing, so what a killed process did not sync stays so.
	idle bool
}

// process is one of those that have the container open.
type process struct {
	ports *faultfs.Faults
	plan  faultfs.Plan // of what it does now; nil: nothing goes wrong
	fs    storage.FS
	c     blosc2.Container
	hit   faultfs.Op // at which something went wrong last
	write bool
	dirty bool // it wrote since it opened
}

type world[S any] struct {
	subject[S]
	ctx  context.Context
	o    blosc2.Options
	disk *faultfs.Disk
	live S
	// durable are the states that a power cut may leave; nil: nobody promised
	// any.
	durable []S
	// synced are those that it may leave once all is synced: of what was
	// reported as failed there may be a part that the next success says nothing
	// of.
	synced    []S
	lost      bool // a dirty process died: what it wrote is never synced
	processes []*process
	snapshots []taken[S]
	zip       zipped[S]
}

type taken[S any] struct {
	by *faultfs.Faults // of the process, with which it ends
	c  blosc2.Container
	s  S
}

// check runs a model check of the subject.
func check[S any](t *rapid.T, sub subject[S]) {
	w := &world[S]{subject: sub, ctx: context.Background()}
	w.o.Durability = rapid.SampledFrom([]blosc2.Durability{blosc2.SyncCommits, blosc2.SyncOnClose, blosc2.SyncNever}).Draw(t, "durability")
	count := 2
	if rapid.Bool().Draw(t, "locked") {
		w.o.Locking = blosc2.Locked
		count = 3
	}
	for i := range count {
		// Without locks one writes.
		w.processes = append(w.processes, &process{write: i == 0 || w.o.Locking == blosc2.Locked})
	}
	w.begin(t)
	defer func() {
		for _, p := range w.processes {
			p.ports.Kill()
		}
		w.forget(t)
	}()
	t.Repeat(map[string]func(*rapid.T){
		"write":    w.writes,
		"reopen":   w.reopens,
		"snapshot": w.takes,
		"forget":   w.forget,
		"cut":      func(t *rapid.T) { w.cut(t) },
		"pack":     w.packs,
		"":         w.agrees,
	})
}

// begin makes the container anew, on a new disk.
func (w *world[S]) begin(t *rapid.T) {
	w.disk, w.live, w.durable, w.lost = faultfs.NewDisk(0), w.empty, nil, false
	if err := w.create(w.ctx, w.disk, w.o); err != nil {
		t.Fatalf("making it: %v", err)
	}
	w.synced = []S{w.live}
	w.zip = zipped[S]{now: []*S{nil}, safe: []*S{nil}}
	if w.o.Durability != blosc2.SyncNever {
		w.durable = w.synced
	}
	for _, p := range w.processes {
		w.start(t, p)
	}
}

// start opens the container in a new process.
func (w *world[S]) start(t *rapid.T, p *process) {
	p.plan, p.hit, p.dirty = nil, faultfs.Op{}, false
	p.ports = faultfs.New(func(op faultfs.Op) (f faultfs.Fault) {
		if p.plan != nil {
			f = p.plan(op)
		}
		if f.Kill || f.Err != nil {
			p.hit = op
		}
		return f
	})
	p.fs = p.ports.FS(w.disk)
	w.open(t, p)
}

func (w *world[S]) open(t *rapid.T, p *process) {
	o := w.o
	o.Write = p.write
	var err error
	if w.subject.open != nil {
		p.c, err = w.subject.open(w.ctx, p.fs, o)
	} else {
		p.c, err = blosc2.Open(w.ctx, p.fs, w.name, o)
	}
	if err != nil {
		t.Fatalf("opening it: %v; files %v", err, tree(w.ctx, w.disk, ""))
	}
}

// agrees holds what everybody sees against the model.
func (w *world[S]) agrees(t *rapid.T) {
	for i, p := range w.processes {
		if err := w.holds(w.ctx, p.c, w.live); err != nil {
			t.Fatalf("process %d: %v", i, err)
		}
	}
	for i, s := range w.snapshots {
		if err := w.holds(w.ctx, s.c, s.s); err != nil {
			t.Fatalf("snapshot %d: %v", i, err)
		}
	}
	if w.found(w.live) != nil {
		t.Fatalf("who opens it now: %v", w.found(w.live))
	}
}

// found is what is wrong with the container on the disk, for one state.
func (w *world[S]) found(s S) error {
	c, err := blosc2.Open(w.ctx, w.disk, w.name, blosc2.Options{})
	if err != nil {
		return err
	}
	return errors.Join(w.holds(w.ctx, c, s), c.Close())
}

// one returns the state of those that is on the disk.
func (w *world[S]) one(t *rapid.T, after string, states []S) S {
	var wrong []string
	for _, s := range states {
		err := w.found(s)
		if err == nil {
			return s
		}
		wrong = append(wrong, err.Error())
	}
	t.Fatalf("after %s: none of the states that may be: %s; files %v", after, strings.Join(wrong, "; "), tree(w.ctx, w.disk, ""))
	panic("unreachable")
}

// mishap is what goes wrong with one operation, if it comes to that.
type mishap struct {
	kind string // "none", "kill", "cut", or an errno
	n    int    // operations before
	done int64
}

var (
	steps = []faultfs.Kind{ // after each of which there is something else on the disk than before
		faultfs.Create, faultfs.Write, faultfs.Sync, faultfs.SyncDir, faultfs.Rename, faultfs.Remove, faultfs.Mkdir, faultfs.Truncate,
	}
	failable = append([]faultfs.Kind{faultfs.Open, faultfs.Stat, faultfs.Read, faultfs.List}, steps...)
)

func drawMishap(t *rapid.T) mishap {
	m := mishap{kind: rapid.SampledFrom([]string{"none", "none", "kill", "kill", "cut", "cut", "ENOSPC", "EIO", "EINTR", "EMFILE", "ESTALE", "EROFS", "EDQUOT"}).Draw(t, "mishap")}
	if m.kind != "none" {
		m.n = rapid.IntRange(0, 20).Draw(t, "after")
		m.done = rapid.SampledFrom([]int64{0, 0, 1, 600, faultfs.Whole}).Draw(t, "done")
	}
	return m
}

func (m mishap) plan() faultfs.Plan {
	switch m.kind {
	case "none":
		return nil
	case "kill", "cut":
		return faultfs.Nth(m.n, faultfs.Fault{Kill: true, Done: m.done}, steps...)
	}
	return faultfs.Nth(m.n, faultfs.Fault{Err: faultfs.Errno(m.kind), Done: m.done}, failable...)
}

func (w *world[S]) writes(t *rapid.T) {
	p := w.processes[0]
	if w.o.Locking == blosc2.Locked {
		p = w.processes[rapid.IntRange(0, len(w.processes)-1).Draw(t, "by")]
	}
	a := w.draw(t, w.live)
	m := drawMishap(t)
	if a.alone {
		w.forget(t)
	}
	p.plan = m.plan()
	err := a.do(w.ctx, p.c)
	p.plan = nil
	t.Logf("%s: %v; %s at %+v", a.what, err, m.kind, p.hit)
	before := w.live
	switch {
	case err == nil:
		w.live = a.next
	case m.kind == "none":
		t.Fatalf("%s: %v", a.what, err)
	}
	p.dirty = true
	if !a.idle {
		w.note(a, err)
	}
	if err == nil {
		if p.ports.Dead() { // after what mattered
			w.restart(t, p, m)
		}
		return
	}
	if p.ports.Dead() && m.kind == "cut" {
		w.cut(t)
		return
	}
	w.live = w.one(t, a.what+": "+err.Error(), slices.Concat([]S{before}, a.between, []S{a.next}))
	w.restart(t, p, m)
}

// note notes what a power cut may leave from now on.
func (w *world[S]) note(a act[S], err error) {
	after := []S{a.next}
	if a.apply != nil {
		after = nil
		for _, s := range w.synced {
			after = append(after, a.apply(s))
		}
	}
	if err != nil {
		after = slices.Concat(w.synced, a.between, after)
	}
	w.synced = nil
	for _, s := range after {
		if !slices.ContainsFunc(w.synced, func(other S) bool { return reflect.DeepEqual(s, other) }) {
			w.synced = append(w.synced, s)
		}
	}
	w.durable = nil
	if w.o.Durability == blosc2.SyncCommits {
		w.durable = w.synced
	}
}

// restart replaces a process that is dead.
func (w *world[S]) restart(t *rapid.T, p *process, m mishap) {
	if !p.ports.Dead() {
		return
	}
	if m.kind == "cut" {
		w.cut(t)
		return
	}
	w.lost = true
	w.snapshots = slices.DeleteFunc(w.snapshots, func(s taken[S]) bool {
		if s.by == p.ports {
			_ = s.c.Close() // its pin is this process's
		}
		return s.by == p.ports
	})
	w.start(t, p)
	w.clean(t)
}

// clean holds the files on the disk against what the state takes, if no other
// process may be at work at one.
func (w *world[S]) clean(t *rapid.T) {
	if len(w.snapshots) > 0 {
		return
	}
	for _, p := range w.processes { // a store clears when it lists its files
		if err := w.holds(w.ctx, p.c, w.live); err != nil {
			t.Fatalf("after it was opened: %v", err)
		}
	}
	if left := w.litter(tree(w.ctx, w.disk, ""), w.live); len(left) > 0 {
		t.Fatalf("nobody claims %v", left)
	}
}

// tree lists all files below a directory, and directories with a slash.
func tree(ctx context.Context, fs storage.FS, dir string) (all []string) {
	names, err := fs.List(ctx, dir)
	if err != nil {
		panic(err)
	}
	for _, name := range names {
		full := path.Join(dir, name)
		if strings.HasSuffix(name, "/") {
			all = append(append(all, full+"/"), tree(ctx, fs, full)...)
			continue
		}
		all = append(all, full)
	}
	return all
}

// reopens ends one process in peace, and another takes its place.
func (w *world[S]) reopens(t *rapid.T) {
	p := w.processes[rapid.IntRange(0, len(w.processes)-1).Draw(t, "which")]
	if err := p.c.Close(); err != nil {
		t.Fatalf("closing it: %v", err)
	}
	p.dirty = false
	if w.o.Durability == blosc2.SyncOnClose && !w.lost && !slices.ContainsFunc(w.processes, func(p *process) bool { return p.dirty }) {
		w.durable = w.synced
	}
	w.start(t, p)
}

func (w *world[S]) takes(t *rapid.T) {
	if w.snapshot == nil || len(w.snapshots) == 3 {
		t.Skip()
	}
	p := w.processes[rapid.IntRange(0, len(w.processes)-1).Draw(t, "by")]
	c, err := w.snapshot(w.ctx, p.c)
	if err != nil {
		t.Fatalf("taking a snapshot: %v", err)
	}
	w.snapshots = append(w.snapshots, taken[S]{p.ports, c, w.live})
}

func (w *world[S]) forget(*rapid.T) {
	for _, s := range w.snapshots {
		_ = s.c.Close() // that of a dead process says so
	}
	w.snapshots = nil
}

// cut cuts the power: all processes die, and the machine starts again.
func (w *world[S]) cut(t *rapid.T) {
	for _, p := range w.processes {
		p.ports.Kill()
	}
	w.forget(t)
	seed := rapid.Uint64().Draw(t, "what the cut leaves")
	w.disk = w.disk.Cut(rand.New(rand.NewPCG(seed, 0)))
	if w.durable == nil {
		if c, err := blosc2.Open(w.ctx, w.disk, w.name, blosc2.Options{}); err == nil { // it may be anything, but for a panic
			_, _ = blosc2.Verify(w.ctx, c, func(blosc2.Damage) {})
			_ = c.Close()
		}
		w.begin(t)
		return
	}
	w.live, w.lost = w.one(t, "a power cut", w.durable), false
	w.synced = []S{w.live}
	w.durable = w.synced
	w.zip.now = w.zip.safe
	w.unpack(t, "a power cut")
	for _, p := range w.processes {
		w.start(t, p)
	}
	w.clean(t)
}
