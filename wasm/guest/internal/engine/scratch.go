package engine

import (
	"context"
	"encoding/binary"
	"math"
	"time"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/rawjson"
	"github.com/gridhold/gridhold/sdk/scratch"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/wasm/wire"
)

// scratchObject is an open scratch. Its keys have the numbers that the request
// gave them.
type scratchObject struct {
	*scratch.ImageScratch
	files     image.ReaderProvider
	keys      []string
	locations *image.ImageLocationGrouping
}

// scratchMaking is the request of scratch_open.
type scratchMaking struct {
	where     string
	files     imagesPlace
	fs        uint32
	name      string
	runLength int64
	budget    int64
	o         scratch.Options
	keys      []string
	locations *image.ImageLocationGrouping
}

// wanted is one image.
type wanted struct {
	key   uint32
	index int64
}

var verifications = map[string]scratch.VerifyWhen{"": scratch.VerifyFirst, "first": scratch.VerifyFirst, "always": scratch.VerifyAlways, "restart": scratch.VerifyRestart}

// parse takes a request apart: u32 len, JSON, then the locations: u32 count of
// keys, each u32 len and its bytes, then u32 key, u32 0, i64 index for each.
func (s *scratchMaking) parse(r *wire.Reader) bool {
	m := rawjson.MembersOf(r.Bytes(r.U32()))
	s.where, s.name, s.fs = m.String("where", "file"), m.String("name", ""), uint32(m.Int("fs", 0, math.MaxUint32, 0))
	s.runLength, s.budget = m.Int("run_length", 0, math.MaxInt64, 16), m.Int("budget", 0, math.MaxInt64, scratch.Everything)
	var known bool
	s.o.Verify, known = verifications[m.String("verify", "")]
	s.o.Overwrite, s.o.ReadOnly, s.o.Reserve, s.o.Durable, s.o.Network = m.Bool("overwrite"), m.Bool("read_only"), m.Bool("reserve"), m.Bool("durable"), m.Bool("network")
	s.o.KeepFree, s.o.Boot, s.o.OpenFiles = m.Int("keep_free", 0, math.MaxInt64, 0), m.String("boot", ""), int(m.Int("open_files", 0, 1<<20, 0))
	s.o.Revalidate = time.Duration(m.Int("revalidate_ms", 0, math.MaxInt32, 0)) * time.Millisecond
	if !s.files.parse(m.Object("files")) || m.Err() != nil || r.Bad() || !known {
		return false
	}
	return s.parseLocations(r)
}

func (s *scratchMaking) parseLocations(r *wire.Reader) bool {
	for n := r.U32(); n > 0 && !r.Bad(); n-- {
		s.keys = append(s.keys, string(r.Bytes(r.U32())))
	}
	rows, ok := wantedOf(r, len(s.keys))
	if !ok {
		return false
	}
	var err error
	s.locations, err = image.GroupLocations(func(yield func(image.ImageLocation) bool) {
		for _, w := range rows {
			if !yield(image.ImageLocation{Key: s.keys[w.key], Index: w.index}) {
				return
			}
		}
	})
	return err == nil
}

// wantedOf reads images to the end of a request.
func wantedOf(r *wire.Reader, keys int) ([]wanted, bool) {
	b := r.Rest()
	if r.Bad() || len(b)%16 != 0 {
		return nil, false
	}
	all := make([]wanted, 0, len(b)/16)
	for ; len(b) > 0; b = b[16:] {
		w := wanted{binary.LittleEndian.Uint32(b), int64(binary.LittleEndian.Uint64(b[8:]))}
		if int64(w.key) >= int64(keys) {
			return nil, false
		}
		all = append(all, w)
	}
	return all, true
}

func (e *Engine) scratchOf(handle uint32) *object {
	if o, ok := e.handles.Get(handle); ok && o.scratch != nil {
		return o
	}
	return nil
}

// parseScratch takes apart what is about scratches.
func (e *Engine) parseScratch(q *request, req []byte) fault.Code {
	p := q.pictures
	r := wire.NewReader(req)
	switch q.kind {
	case wire.KindScratchOpen:
		p.making = &scratchMaking{}
		if !p.making.parse(&r) {
			return fault.CodeInvalid
		}
		q.weight = e.memory / 16
		return 0
	case wire.KindScratchRead, wire.KindScratchLocate:
		q.handle = r.U32()
		if q.at = e.scratchOf(q.handle); q.at == nil {
			return fault.CodeClosed
		}
		q.flags = r.U32()
		var ok bool
		if p.wanted, ok = wantedOf(&r, len(q.at.scratch.keys)); !ok {
			return fault.CodeInvalid
		}
		if q.kind == wire.KindScratchRead {
			q.weight = add(someBytes, q.at.scratch.size(p.wanted))
		}
		return 0
	case wire.KindScratchDo:
		return e.parseScratchDeed(q, req)
	}
	return fault.CodeUnsupported
}

// size is the bytes of images; those of files that the scratch does not know
// count for nothing.
func (s *scratchObject) size(images []wanted) (n int64) {
	last, size := uint32(math.MaxUint32), int64(0)
	for _, w := range images {
		if w.key != last {
			is, _ := s.Describe(s.keys[w.key])
			last, size = w.key, 0
			if is.Type.Valid() {
				size = is.ImageBytes()
			}
		}
		n = add(n, size)
	}
	return n
}

// scratchOpen makes a scratch, or opens the one that is there.
func (e *Engine) scratchOpen(ctx context.Context, m *scratchMaking) (a answer, err error) {
	o := m.o
	o.Clock = clock{e}
	s := &scratchObject{files: e.imageFiles(&m.files), keys: m.keys, locations: m.locations}
	switch m.where {
	case "memory":
		// The guest's, which has to do for everything else as well.
		s.ImageScratch, err = scratch.CreateHostImageScratch(ctx, m.locations, m.runLength, min(m.budget, e.memory/2), s.files, o)
	case "file":
		s.ImageScratch, err = scratch.CreateMappedFileImageScratch(ctx, m.locations, e.fileSystem(m.fs), m.name, m.runLength, m.budget, s.files, o)
	case "directory":
		s.ImageScratch, err = scratch.CreateDirectoryImageScratch(ctx, m.locations, e.fileSystem(m.fs), m.name, m.runLength, m.budget, s.files, o)
	default:
		err = fault.New(fault.ErrInvalid, "scratch", "where", "neither memory nor a file nor a directory")
	}
	if err != nil {
		return answer{}, err
	}
	if err = s.check(m.runLength, e.memory/8); err == nil {
		if a, err = inJSON(s.Stats(), nil); err == nil {
			a.object, err = e.put(&object{scratch: s})
		}
	}
	if err != nil {
		_ = s.Close()
		return answer{}, err
	}
	return a, nil
}

// check refuses runs that are too large for the memory: a run is taken in as a
// whole.
func (s *scratchObject) check(runLength, most int64) error {
	for i := range s.locations.Len() {
		key := s.locations.Group(i).Key
		if is, ok := s.Describe(key); ok && times(is.ImageBytes(), min(runLength, is.Count)) > most {
			return fault.New(fault.ErrLimit, "scratch", key, "its runs are larger than the memory allows")
		}
	}
	return nil
}

// scratchRead reads images, those that follow each other together.
func (e *Engine) scratchRead(ctx context.Context, q *request) (answer, error) {
	if q.weight > e.gate.limit {
		return answer{}, fault.New(fault.ErrLimit, "scratch", "", "more than the memory allows")
	}
	s, all := q.at.scratch, q.pictures.wanted
	out := make([]byte, q.weight-someBytes)
	for rest := out; len(all) > 0; {
		n := 1
		for n < len(all) && all[n].key == all[0].key && all[n].index == all[n-1].index+1 {
			n++
		}
		size := s.size(all[:n])
		if err := s.ReadImages(ctx, s.keys[all[0].key], rest[:size], all[0].index); err != nil {
			return answer{}, err
		}
		rest, all = rest[size:], all[n:]
	}
	return answer{kind: wire.Bytes, bytes: out}, nil
}

// locatedAtOnce is how many images are located between two looks at whether
// that is still wanted: some tenths of a millisecond where all were seen before.
const locatedAtOnce = 256

// locate answers gh_kept for each image.
func (s *scratchObject) locate(ctx context.Context, all []wanted) (answer, error) {
	le := binary.LittleEndian
	b := make([]byte, 0, len(all)*wire.KeptSize)
	for i, w := range all {
		if i%locatedAtOnce == 0 {
			if err := storage.Ended(ctx, "scratch"); err != nil {
				return answer{}, err
			}
		}
		at, ok, err := s.Locate(ctx, s.keys[w.key], w.index)
		if err != nil {
			return answer{}, err
		}
		if !ok {
			at = scratch.Place{Off: -1}
		}
		for _, v := range []uint64{uint64(at.Off), uint64(at.Len), uint64(at.RunAt), at.RunWord, uint64(at.KeyAt), at.KeyWord} {
			b = le.AppendUint64(b, v)
		}
	}
	return answer{kind: wire.Bytes, bytes: b}, nil
}
