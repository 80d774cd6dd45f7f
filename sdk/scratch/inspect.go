package scratch

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/rawjson"
	"github.com/gridhold/gridhold/sdk/storage"
)

// Status is what a scratch file says about itself.
type Status struct {
	Name      string
	Size      int64 // of the file in bytes; it is sparse
	Allocated int64 // bytes of the file system; 0 where unknown
	LastUsed  time.Time
	InUse     bool
	// Broken says what is wrong with the header; "" of one that can be gone on
	// with. Nothing below is known of a broken one.
	Broken                             string
	RunLength                          int64
	Keys, Images, Runs                 int64 // of all locations
	Present, PresentRuns, PresentBytes int64 // images, runs and bytes of pixels that are there
	Budget                             int64 // bytes of pixels that its users may fill
}

// Inspect looks at a scratch file, which may be in use. ErrCorrupt for what
// does not begin as one; ErrNotFound, ErrIO.
func Inspect(ctx context.Context, fs storage.FS, name string) (s Status, err error) {
	f, err := fs.Open(ctx, name, storage.OpenRead)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if !isOurs(f) {
		return s, fault.At(fault.ErrCorrupt, "scratch", name, 0, "not a scratch")
	}
	info, err := f.Stat()
	if err != nil {
		return s, err
	}
	s = Status{Name: name, Size: info.Size, Allocated: info.Allocated, InUse: inUse(ctx, fs, name)}
	h, err := readHeader(f, name)
	switch k := fault.CodeOf(err); {
	case k == fault.CodeCorrupt, k == fault.CodeUnsupported:
		s.Broken = err.Error()
		return s, nil
	case err != nil:
		return s, err
	}
	shelf := newFile(h, f, name, nil, Options{NoMap: true}, new(counters))
	if used, err := shelf.number(atUsed); err == nil && used != 0 {
		s.LastUsed = time.Unix(0, int64(used))
	}
	if quota, err := shelf.number(atQuota); err == nil {
		s.Budget = min(int64(quota), h.bytes)
	}
	s.RunLength, s.Keys, s.Images, s.Runs = h.runLength, int64(len(h.keys)), h.images, h.runs
	return s, shelf.there(ctx, func(r run) error {
		s.Present += r.count
		s.PresentRuns++
		s.PresentBytes += r.bytes
		return nil
	})
}

// WriteJSON implements [rawjson.Value].
func (s Status) WriteJSON(w *rawjson.Writer) {
	w.Open('{')
	w.Name("name").String(s.Name)
	w.Name("size").Int(s.Size)
	w.Name("allocated").Int(s.Allocated)
	w.Name("last_used_ns").Int(max(s.LastUsed.UnixNano(), 0))
	w.Name("in_use").Bool(s.InUse)
	if s.Broken != "" {
		w.Name("broken").String(s.Broken)
	} else {
		for _, n := range [...]struct {
			name  string
			value int64
		}{
			{"run_length", s.RunLength}, {"keys", s.Keys}, {"images", s.Images}, {"runs", s.Runs}, {"present", s.Present},
			{"present_runs", s.PresentRuns}, {"present_bytes", s.PresentBytes}, {"budget", s.Budget},
		} {
			w.Name(n.name).Int(n.value)
		}
	}
	w.Close('}')
}

// inUse asks for a lock that every user excludes, and gives it back at once.
func inUse(ctx context.Context, fs storage.FS, name string) bool {
	f, err := fs.Open(ctx, name, readWrite)
	if err != nil {
		return false
	}
	defer f.Close()
	unlock, err := f.LockRange(lockInUse, storage.LockExclusive)
	if err == nil {
		unlock() // closing does so as well
	}
	return errors.Is(err, fault.ErrLocked)
}

// there calls do for each run whose word says that it is there.
func (s *fileShelf) there(ctx context.Context, do func(r run) error) error {
	words, _, err := s.readStamps(s.f)
	if err != nil {
		return err
	}
	var failed error
	err = s.readWords(s.f, func(n int64, w word) {
		r := s.layout.number(n)
		if failed != nil || n&0xffff == 0 && ctx.Err() != nil {
			return
		}
		if sw := words[r.key.place]; sw != 0 && w.holds(n, sw.generation(), s.salt) {
			failed = do(r)
		}
	})
	return errors.Join(failed, ignore(err, io.EOF), storage.Ended(ctx, s.name))
}

// List looks at all scratches of a directory.
func List(ctx context.Context, fs storage.FS, directory string) (all []Status, err error) {
	names, err := fs.List(ctx, directory)
	if err != nil {
		return nil, err
	}
	for _, base := range names {
		if !strings.HasSuffix(base, suffix) {
			continue
		}
		s, err := Inspect(ctx, fs, join(directory, base))
		switch k := fault.CodeOf(err); {
		case err == nil:
			all = append(all, s)
		case k != fault.CodeCorrupt && k != fault.CodeNotFound && k != fault.CodeNotAllowed: // not ours, or gone
			return all, err
		}
	}
	return all, nil
}

// Damage is something that is wrong with a scratch file.
type Damage struct {
	Item string // a key, with the first and the last image of a run; "" for the header
	Off  int64  // in the file
	Text string
}

// Verify holds everything that is there in a scratch file against its
// checksum, and calls report for what is wrong and progress, if not nil, for
// each run. It changes nothing: what is damaged is taken in anew when it is
// read through the scratch. A stamp or a state that is damaged is of a run that
// is not there any more. checked counts the header and the runs.
func Verify(ctx context.Context, fs storage.FS, name string, report func(Damage), progress func(bytes int64)) (checked int64, err error) {
	f, err := fs.Open(ctx, name, storage.OpenRead)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	h, err := readHeader(f, name)
	checked = 1
	if fault.CodeOf(err) == fault.CodeCorrupt {
		d := Damage{Off: -1, Text: err.Error()}
		if at := (*fault.Error)(nil); errors.As(err, &at) {
			d.Off, d.Text = at.Off, at.Why
		}
		report(d)
		return checked, nil
	}
	if err != nil {
		return 0, err
	}
	s := newFile(h, f, name, nil, Options{NoMap: true}, new(counters))
	if err := s.states(report); err != nil {
		return checked, err
	}
	return checked, errors.Join(s.there(ctx, func(r run) error {
		checked++
		if progress != nil {
			progress(r.bytes)
		}
		b := s.buffer(r)
		defer s.giveBack(b)
		ok, err := s.load(r, b, 0)
		if err == nil && (ok || !s.has(r)) { // whoever fills it may have begun anew
			return nil
		}
		text := "the checksum of the pixels is wrong"
		if err != nil {
			text = err.Error()
		}
		report(Damage{r.String(), s.dataAt(r.off), text})
		return storage.Ended(ctx, name)
	}))
}
