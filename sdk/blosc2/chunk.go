package blosc2

import (
	"context"
	"encoding/binary"
	"io"
	"slices"
	"strconv"
	"sync"

	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// chunkSize is how many bytes chunk i decodes to; -1: only it knows.
func (v *view) chunkSize(i int64) int64 {
	if v.ChunkSize <= 0 {
		return -1
	}
	return min(int64(v.ChunkSize), v.Size-i*int64(v.ChunkSize))
}

// special makes the chunk that an index entry without bytes stands for.
func (v *view) special(kind blosc.Special, i int64) ([]byte, error) {
	size := v.chunkSize(i)
	if size < 0 {
		return nil, fault.New(fault.ErrCorrupt, "frame", "index", "a chunk without bytes where sizes vary")
	}
	b := make([]byte, blosc.ExtendedHeaderSize)
	blockSize := size
	if v.BlockSize > 0 {
		blockSize = min(blockSize, int64(v.BlockSize))
	}
	b[0], b[1], b[2], b[3] = 5, 1, 5, 1
	if v.TypeSize <= 255 && size%int64(v.TypeSize) == 0 {
		b[3] = byte(v.TypeSize)
	}
	binary.LittleEndian.PutUint32(b[4:], uint32(size))
	binary.LittleEndian.PutUint32(b[8:], uint32(blockSize))
	binary.LittleEndian.PutUint32(b[12:], blosc.ExtendedHeaderSize)
	b[31] = byte(kind) << 4
	return b, nil
}

// stored is where the bytes of a chunk are: r begins with them and has room
// of them, or less.
type stored struct {
	io.ReaderAt
	at, room int64 // at: in the data of a contiguous frame
	io.Closer
}

// find returns where chunk i is, or its bytes if there are none.
func (v *view) find(ctx context.Context, i int64) (stored, []byte, error) {
	e, err := v.index.at(i)
	if err != nil {
		return stored{}, nil, err
	}
	if e.Special != blosc.NotSpecial {
		b, err := v.special(e.Special, i)
		return stored{}, b, err
	}
	s, err := v.at(ctx, e.At)
	return s, nil, err
}

// at returns the stored chunk of an index entry.
func (v *view) at(ctx context.Context, at int64) (stored, error) {
	if !v.Sparse {
		if at > v.PackedSize-blosc.HeaderSize {
			return stored{}, fault.At(fault.ErrCorrupt, "frame", "index", at, "a chunk outside the data")
		}
		room := v.PackedSize - at
		return stored{io.NewSectionReader(v.file, v.where.off+v.HeaderLen+at, room), at, room, keep{}}, nil
	}
	if at > 1<<32-1 {
		return stored{}, fault.New(fault.ErrCorrupt, "frame", "index", "a chunk of number "+strconv.FormatInt(at, 10))
	}
	f, err := v.where.fs.Open(ctx, join(v.where.name, chunkName(at)), storage.OpenRead)
	if err != nil {
		return stored{}, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return stored{}, err
	}
	return stored{f, 0, info.Size, f}, nil
}

// chunkError says which chunk an error is about.
func chunkError(i int64, err error) error {
	if err == nil {
		return nil
	}
	return &fault.Error{Format: "frame", Item: "chunk " + strconv.FormatInt(i, 10), Off: -1, Err: err}
}

// chunkHeader reads the header of chunk i and holds it to the frame.
func (v *view) chunkHeader(ctx context.Context, i int64) (blosc.Header, error) {
	s, b, err := v.find(ctx, i)
	if err != nil {
		return blosc.Header{}, chunkError(i, err)
	}
	var h blosc.Header
	if b != nil {
		h, err = blosc.ParseHeader(b)
	} else {
		defer s.Close()
		_, h, err = readHead(s, 0, s.room, blosc.ExtendedHeaderSize)
	}
	if err == nil {
		err = v.fits(h, i)
	}
	return h, chunkError(i, err)
}

// fits compares what a chunk says of itself with the frame.
func (v *view) fits(h blosc.Header, i int64) error {
	if want := v.chunkSize(i); want >= 0 && int64(h.Size) != want {
		return corrupt(-1, "decodes to "+strconv.Itoa(h.Size)+" bytes, want "+strconv.FormatInt(want, 10))
	}
	return nil
}

// encoded returns the bytes of chunk i as they are stored; of one that is
// not, the 32 bytes that say the same.
func (v *view) encoded(ctx context.Context, i int64, l Limits) ([]byte, error) {
	s, b, err := v.find(ctx, i)
	if err == nil && b == nil {
		b, err = readChunk(s, 0, s.room, l.Chunk)
		s.Close()
	}
	return b, chunkError(i, err)
}

// chunk opens chunk i and gives it to do, perhaps twice. whole: most of its
// blocks will be decoded, so its bytes are read at once; of others a few are
// used where they are, if near has them.
func (v *view) chunk(ctx context.Context, i int64, whole bool, near *head, o Options, do func(c *blosc.Chunk) error) error {
	if err := storage.Ended(ctx, v.where.main()); err != nil {
		return err
	}
	s, b, err := v.find(ctx, i)
	if err != nil {
		return chunkError(i, err)
	}
	if b == nil {
		defer s.Close()
	}
	options := blosc.Options{TypeSize: v.TypeSize, Plugins: o.Plugins, Workers: o.Workers}
	use := func(c *blosc.Chunk, err error) error {
		if err == nil {
			err = v.fits(c.Header(), i)
		}
		if err == nil {
			err = do(c)
		}
		return err
	}
	if b == nil {
		m, from, to, ok := v.window(s.at, s.room)
		mapped := ok
		if !ok && !whole {
			m, from, to, ok = near.window(v, s.at, s.room)
		}
		if ok {
			here := options
			here.Workers = 0 // a fault is an error in this goroutine only
			err := m.View(func(data []byte) error { return use(blosc.Open(data[from:to], here)) })
			if mapped || err == nil { // else the file itself has the last word: it may have been cut, or replaced
				return chunkError(i, err)
			}
		}
	}
	switch {
	case b != nil:
		err = use(blosc.Open(b, options))
	case whole:
		if b, err = readChunk(s, 0, s.room, o.Limits.Chunk); err == nil {
			err = use(blosc.Open(b, options))
		}
	default:
		err = use(blosc.OpenAt(s, s.room, options))
	}
	return chunkError(i, err)
}

// sizes are where chunks of varying sizes begin, known once all their headers
// were read.
type sizes struct {
	mu     sync.Mutex
	starts []int64 // one more than there are chunks
}

// bounds returns which of all decoded bytes are those of chunk i.
func (v *view) bounds(ctx context.Context, i int64) (from, to int64, err error) {
	if v.ChunkSize > 0 {
		from = i * int64(v.ChunkSize)
		return from, from + v.chunkSize(i), nil
	}
	starts, err := v.starts(ctx)
	if err != nil {
		return 0, 0, err
	}
	return starts[i], starts[i+1], nil
}

// chunkAt returns the chunk that byte off of all decoded ones lies in.
func (v *view) chunkAt(ctx context.Context, off int64) (int64, error) {
	if v.ChunkSize > 0 {
		return off / int64(v.ChunkSize), nil
	}
	starts, err := v.starts(ctx)
	if err != nil {
		return 0, err
	}
	i, found := slices.BinarySearch(starts, off)
	if !found {
		i--
	}
	for i+1 < len(starts) && starts[i+1] == off { // empty chunks
		i++
	}
	return int64(i), nil
}

func (v *view) starts(ctx context.Context) ([]int64, error) {
	v.sizes.mu.Lock()
	defer v.sizes.mu.Unlock()
	if v.sizes.starts != nil {
		return v.sizes.starts, nil
	}
	starts := []int64{0}
	for i := range v.chunks {
		if err := storage.Ended(ctx, v.where.main()); err != nil {
			return nil, err
		}
		h, err := v.chunkHeader(ctx, i)
		if err != nil {
			return nil, err
		}
		starts = append(starts, starts[i]+int64(h.Size))
	}
	if end := starts[v.chunks]; end != v.Size {
		return nil, corrupt(30, "its chunks have "+strconv.FormatInt(end, 10)+" bytes, not "+strconv.FormatInt(v.Size, 10))
	}
	v.sizes.starts = starts
	return starts, nil
}

// read fills dst with the decoded bytes from off on.
func (v *view) read(ctx context.Context, dst []byte, off int64, near *head, o Options) error {
	for len(dst) > 0 {
		i, err := v.chunkAt(ctx, off)
		if err != nil {
			return err
		}
		from, to, err := v.bounds(ctx, i)
		if err != nil {
			return err
		}
		n := min(to-off, int64(len(dst)))
		err = v.chunk(ctx, i, n > (to-from)/2, near, o, func(c *blosc.Chunk) error {
			_, err := c.DecodeRange(int(off-from), int(off-from+n), dst[:0:n])
			return err
		})
		if err != nil {
			return err
		}
		dst, off = dst[n:], off+n
	}
	return nil
}
