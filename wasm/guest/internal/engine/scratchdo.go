package engine

import (
	"context"
	"encoding/json"
	"math"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/rawjson"
	"github.com/gridhold/gridhold/sdk/scratch"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// parseScratchDeed takes a request of scratch_do apart: one about an open
// scratch, or one about files.
func (e *Engine) parseScratchDeed(q *request, req []byte) fault.Code {
	p, m := q.pictures, rawjson.MembersOf(req)
	p.deed, p.key = m.String("do", ""), m.String("name", "")
	p.files.fs = uint32(m.Int("fs", 0, math.MaxUint32, 0))
	p.budget = m.Int("budget", 0, math.MaxInt64, scratch.Everything)
	q.handle = uint32(m.Int("scratch", 0, math.MaxUint32, 0))
	numbers, err := numbersOf(m.List("keys"))
	if m.Err() != nil || err != nil {
		return fault.CodeInvalid
	}
	p.keys = numbers
	switch p.deed {
	case "prefetch", "verify":
		q.weight = e.memory / 4
	}
	switch p.deed {
	case "stats", "prefetch", "describe":
		if q.at = e.scratchOf(q.handle); q.at == nil {
			return fault.CodeClosed
		}
		for _, k := range p.keys {
			if int64(k) >= int64(len(q.at.scratch.keys)) {
				return fault.CodeInvalid
			}
		}
	}
	return 0
}

// numbersOf reads a list of numbers of keys.
func numbersOf(list []json.RawMessage) (numbers []uint32, err error) {
	for _, raw := range list {
		n := uint64(0)
		for _, c := range raw {
			if c < '0' || c > '9' || n > math.MaxUint32 {
				return nil, fault.New(fault.ErrInvalid, "scratch", "keys", "not numbers")
			}
			n = 10*n + uint64(c-'0')
		}
		if n > math.MaxUint32 {
			return nil, fault.New(fault.ErrInvalid, "scratch", "keys", "not numbers")
		}
		numbers = append(numbers, uint32(n))
	}
	return numbers, nil
}

func (e *Engine) scratchDo(ctx context.Context, q *request) (answer, error) {
	p := q.pictures
	fs := e.fileSystem(p.files.fs)
	switch p.deed {
	case "stats":
		return inJSON(q.at.scratch.Stats(), nil)
	case "describe":
		return inJSON(held{q.at.scratch, p.keys}, nil)
	case "prefetch":
		if err := q.at.scratch.prefetch(ctx, p.keys); err != nil {
			return answer{}, err
		}
		return inJSON(q.at.scratch.Stats(), nil)
	case "status":
		st, err := scratch.Inspect(ctx, fs, p.key)
		return inJSON(st, err)
	case "list":
		all, err := scratch.List(ctx, fs, p.key)
		return inJSON(statuses(all), err)
	case "verify":
		var found findings
		var err error
		found.checked, err = scratch.Verify(ctx, fs, p.key, func(d scratch.Damage) {
			found.damaged = append(found.damaged, zarr.Damage{Item: d.Item, Off: d.Off, Text: d.Text})
		}, nil)
		return inJSON(found, err)
	case "collect":
		c, err := scratch.Collect(ctx, fs, p.key, p.budget, scratch.Options{Clock: clock{e}})
		return inJSON(collected(c), err)
	}
	return answer{}, fault.New(fault.ErrInvalid, "scratch", p.deed, "no such thing can be done")
}

// prefetch takes files into the scratch: those of some keys, or all.
func (s *scratchObject) prefetch(ctx context.Context, keys []uint32) error {
	locations := s.locations
	if keys != nil {
		var err error
		locations, err = image.GroupLocations(func(yield func(image.ImageLocation) bool) {
			for _, n := range keys {
				i, ok := s.locations.Find(s.keys[n])
				if !ok {
					continue
				}
				g := s.locations.Group(i)
				if g.IsWhole {
					yield(image.ImageLocation{Key: g.Key, Index: image.WholeFile})
				}
				for _, index := range g.Indices {
					yield(image.ImageLocation{Key: g.Key, Index: index})
				}
			}
		})
		if err != nil {
			return err
		}
	}
	return scratch.PrefetchScratch(ctx, s.ImageScratch, locations, scratch.NewExecutor(1), nil).Wait(ctx)
}

// held is what the files of keys are, in their order; null for those of which
// nothing is held.
type held struct {
	s    *scratchObject
	keys []uint32
}

// WriteJSON implements [rawjson.Value].
func (h held) WriteJSON(w *rawjson.Writer) {
	w.Open('[')
	for _, n := range h.keys {
		is, ok := h.s.Describe(h.s.keys[n])
		if !ok {
			w.Null()
			continue
		}
		w.Open('{')
		w.Name("kind").String(kindOf(is))
		writeShapes(w, is)
		w.Close('}')
	}
	w.Close(']')
}

type statuses []scratch.Status

// WriteJSON implements [rawjson.Value].
func (l statuses) WriteJSON(w *rawjson.Writer) {
	w.Open('[')
	for _, st := range l {
		st.WriteJSON(w)
	}
	w.Close(']')
}

type collected scratch.Collected

// WriteJSON implements [rawjson.Value].
func (c collected) WriteJSON(w *rawjson.Writer) {
	w.Open('{')
	writeNames(w.Name("removed"), c.Removed)
	w.Name("freed").Int(c.Freed)
	w.Name("taken").Int(c.Taken)
	w.Close('}')
}
