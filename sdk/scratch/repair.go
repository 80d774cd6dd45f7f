package scratch

import (
	"context"
	"errors"
	"io"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// states reports stamps and states of runs that are none: damage of them makes
// runs absent without a word.
func (s *fileShelf) states(report func(Damage)) error {
	for _, k := range s.keys {
		if _, _, err := s.stampOf(k); fault.CodeOf(err) == fault.CodeCorrupt {
			report(Damage{k.name, s.stampAt(k.place), "the stamp of the source is not one"})
		} else if err != nil {
			return ignore(err, io.EOF)
		}
	}
	return ignore(s.readWords(s.f, func(n int64, w word) {
		if w != 0 && (!w.valid(n, s.salt) || w&3 != statePresent) {
			report(Damage{s.layout.number(n).String(), s.wordAt(n), "the state of the run is not one"})
		}
	}), io.EOF)
}

// Repair clears what Verify finds in a scratch file: runs whose pixels or states
// are damaged become absent, and are taken in anew by who reads them. That is
// so without it, too; but who looks first finds less. It may be in use. cleared
// counts the runs. A damaged header, and stamps, are left to the next who makes
// a scratch of these images: report is called for them as for all the rest.
func Repair(ctx context.Context, fs storage.FS, name string, report func(Damage)) (cleared int64, err error) {
	var broken []Damage
	if _, err := Verify(ctx, fs, name, func(d Damage) { broken = append(broken, d) }, nil); err != nil {
		return 0, err
	}
	f, err := fs.Open(ctx, name, readWrite)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	at := map[int64]bool{}
	for _, d := range broken {
		report(d)
		at[d.Off] = true
	}
	h, err := readHeader(f, name)
	if err != nil {
		return 0, ignore(err, fault.ErrCorrupt) // which was reported
	}
	for r := range h.layout.all(Everything) {
		if !at[h.wordAt(r.n)] && !at[h.dataAt(r.off)] {
			continue
		}
		if _, err := f.WriteAt(make([]byte, 8), h.wordAt(r.n)); err != nil {
			return cleared, err
		}
		cleared++
	}
	if cleared == 0 {
		return 0, nil
	}
	return cleared, f.Sync()
}
