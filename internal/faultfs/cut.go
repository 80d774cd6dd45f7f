package faultfs

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/gridhold/gridhold/sdk/storage"
)

const (
	root   = 1   // the number of the directory that all is in
	sector = 512 // bytes that are written whole or not at all
)

// Cut returns the disk after a power cut: all that was synced, and of the rest
// what r chooses: nothing, all, all up to some moment, or any part of it in any
// order, writes by sectors. Nobody has it open, and no lock is held. The disk
// itself is as it was: it may be cut again, otherwise.
func (d *Disk) Cut(r *rand.Rand) *Disk {
	d.mu.Lock()
	log := slices.Clone(d.log)
	d.mu.Unlock()
	tally.cuts.Add(1)
	keeps := func(int) bool { return false }
	torn := false
	switch r.IntN(5) {
	case 0:
	case 1:
		keeps = func(int) bool { return true }
	case 2:
		until := r.IntN(len(log) + 1)
		keeps = func(i int) bool { return i < until }
	default:
		torn = true
		keeps = func(int) bool { return r.IntN(2) == 0 }
	}
	s := survivor{at: map[uint64]where{}, dirs: map[uint64]map[string]uint64{root: {}}, data: map[uint64][]byte{}}
	for i, c := range log {
		switch {
		case c.synced || keeps(i):
			s.apply(c)
		case torn && c.name == nil && c.data != nil:
			s.tear(c, r)
		}
	}
	next := NewDisk(d.capacity)
	s.write(next, "", root)
	next.SyncAll()
	return next
}

// survivor is what is left, by the numbers that files and directories had.
type survivor struct {
	at   map[uint64]where
	dirs map[uint64]map[string]uint64
	data map[uint64][]byte
}

type where struct {
	dir  uint64
	name string
}

func (s *survivor) apply(c change) {
	if c.name == nil {
		s.fill(c)
		return
	}
	if w, ok := s.at[c.of]; ok && s.dirs[w.dir][w.name] == c.of {
		delete(s.dirs[w.dir], w.name)
	}
	delete(s.at, c.of)
	if c.name.dir && s.dirs[c.of] == nil {
		s.dirs[c.of] = map[string]uint64{}
	}
	if c.name.to == 0 {
		return
	}
	if s.dirs[c.name.to] == nil { // of a directory that may itself be lost
		s.dirs[c.name.to] = map[string]uint64{}
	}
	s.dirs[c.name.to][c.name.toName] = c.of
	s.at[c.of] = where{c.name.to, c.name.toName}
}

func (s *survivor) fill(c change) {
	b := s.data[c.of]
	if c.end < 0 {
		s.data[c.of] = sized(b, c.off)
		return
	}
	if c.end > int64(len(b)) && c.data != nil {
		b = sized(b, c.end)
	}
	if c.data != nil {
		copy(b[c.off:], c.data)
	} else {
		clear(b[min(c.off, int64(len(b))):min(c.end, int64(len(b)))])
	}
	s.data[c.of] = b
}

// tear does some sectors of a write. The file may have become as long as it
// was to be, without what was to be there.
func (s *survivor) tear(c change, r *rand.Rand) {
	if r.IntN(2) == 0 {
		s.data[c.of] = sized(s.data[c.of], max(c.end, int64(len(s.data[c.of]))))
	}
	for off := c.off; off < c.end; {
		end := min((off/sector+1)*sector, c.end)
		if r.IntN(2) == 0 {
			s.fill(change{of: c.of, off: off, end: end, data: c.data[off-c.off : end-c.off]})
		}
		off = end
	}
}

func sized(b []byte, size int64) []byte {
	if size <= int64(len(b)) {
		return slices.Clip(b[:size])
	}
	return append(slices.Clip(b), make([]byte, size-int64(len(b)))...)
}

// write puts a directory, and all that is in it, on a disk.
func (s *survivor) write(to *Disk, name string, dir uint64) {
	ctx := context.Background()
	ok := func(err error) {
		if err != nil {
			panic("faultfs: " + err.Error())
		}
	}
	for _, base := range slices.Sorted(maps.Keys(s.dirs[dir])) {
		full, of := base, s.dirs[dir][base]
		if name != "" {
			full = name + "/" + base
		}
		if s.dirs[of] != nil {
			ok(to.Mkdir(ctx, full))
			s.write(to, full, of)
			continue
		}
		f, err := to.Open(ctx, full, storage.OpenWrite|storage.OpenCreate)
		ok(err)
		_, err = f.WriteAt(s.data[of], 0)
		ok(err)
		ok(f.Close())
	}
}
