package blosc2_test

import (
	"errors"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/fault"
)

// zipped are the states that the zip which was made of a store may hold: now,
// and after a power cut. nil: there is none.
type zipped[S any] struct{ now, safe []*S }

// packs makes the zip, of the store as it is or of a snapshot, while something
// goes wrong: there is the one from before, or the new one.
func (w *world[S]) packs(t *rapid.T) {
	if w.pack == nil {
		t.Skip()
	}
	p := w.processes[rapid.IntRange(0, len(w.processes)-1).Draw(t, "by")]
	c, s := p.c, w.live
	for _, taken := range w.snapshots {
		if taken.by == p.ports && rapid.Bool().Draw(t, "of a snapshot") {
			c, s = taken.c, taken.s
			break
		}
	}
	m, before := drawMishap(t), len(w.packing())
	p.plan = m.plan()
	err := w.pack(w.ctx, p.fs, c)
	p.plan = nil
	t.Logf("pack: %v; %s at %+v", err, m.kind, p.hit)
	switch {
	case err == nil:
		w.zip = zipped[S]{now: []*S{&s}, safe: []*S{&s}}
		if left := w.packing(); m.kind == "none" && len(left) > max(before-1, 0) {
			t.Fatalf("packed, and left %v behind", left)
		}
	case m.kind == "none":
		t.Fatalf("packing it: %v", err)
	default:
		w.zip = zipped[S]{now: append(slices.Clone(w.zip.now), &s), safe: append(slices.Clone(w.zip.safe), &s)}
	}
	if p.ports.Dead() && m.kind == "cut" {
		w.cut(t)
		return
	}
	w.unpack(t, "packing it")
	w.restart(t, p, m)
}

// packing are the files that are becoming the zip.
func (w *world[S]) packing() []string {
	return slices.DeleteFunc(tree(w.ctx, w.disk, ""), func(name string) bool { return !strings.HasPrefix(name, w.name+".b2z.") })
}

// unpack finds out which of the states that it may hold the zip has.
func (w *world[S]) unpack(t *rapid.T, after string) {
	name := w.name + ".b2z"
	c, err := blosc2.Open(w.ctx, w.disk, name, blosc2.Options{})
	if errors.Is(err, fault.ErrNotFound) && slices.Contains(w.zip.now, nil) {
		w.zip.now = []*S{nil}
		return
	}
	if err != nil {
		t.Fatalf("after %s: opening the zip: %v", after, err)
	}
	defer c.Close()
	for _, s := range w.zip.now {
		if s == nil {
			continue
		}
		if err = w.holds(w.ctx, c, *s); err == nil {
			w.zip.now = []*S{s}
			return
		}
	}
	t.Fatalf("after %s: the zip: %v", after, err)
}
