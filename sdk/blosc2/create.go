package blosc2

import (
	"context"
	"errors"
	"math"
	"path"
	"slices"
	"strconv"

	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// Spec says how a frame is made.
type Spec struct {
	// Params of its chunks. The zero value is zstd, level 5, with shuffle, for
	// items of one byte; an array sets the sizes of items and blocks.
	Params    blosc.Params
	ChunkSize int // bytes of a chunk, whole items; 0: those of the first one. An array sets it
	// ChunkBytes and BlockBytes are how large an array's chunks and blocks are
	// chosen, where its Shape does not say: about that, and rather a divisor of
	// a side. 0: 8 MiB and 192 KiB.
	ChunkBytes, BlockBytes int64
	Sparse                 bool // a directory with a file a chunk
	Meta                   []Metalayer
	// Checksums keeps one of each chunk: see SChunk.KeepChecksums.
	Checksums bool
	// What to do with what has the name already. Neither: ErrExists, which is
	// mode "x" of NumPy and python-blosc2. Replace, mode "w": the new frame
	// takes the place of a frame, when it is whole; anything else, and a
	// directory with other files in it, is left alone with ErrExists. OrOpen,
	// mode "a": a frame of that kind is opened, whatever it is like, and no
	// other is made.
	Replace, OrOpen bool
	// Fill writes to it before it appears under its name; nil: it appears
	// empty, an array with zeros.
	Fill func(ctx context.Context, c Container) error
}

// CreateSChunk makes a frame without items and opens it for writing. ErrExists,
// ErrInvalid, and errors of the file system.
func CreateSChunk(ctx context.Context, fs storage.FS, name string, spec Spec, o Options) (*SChunk, error) {
	c, err := create(ctx, fs, name, spec, nil, o)
	if err != nil {
		return nil, err
	}
	return sequence(c), nil
}

// CreateArray makes an array of zeros, of which nothing is stored, and opens
// it for writing. shape needs its DType; Chunks and Blocks are chosen where
// they are nil. Errors are those of CreateSChunk.
func CreateArray(ctx context.Context, fs storage.FS, name string, shape Shape, spec Spec, o Options) (*NDArray, error) {
	t, err := ParseDType(shape.DType)
	if err != nil {
		return nil, err
	}
	if len(shape.Shape) > maxAxes {
		return nil, fault.New(fault.ErrInvalid, "shape", "", strconv.Itoa(len(shape.Shape))+" axes")
	}
	for _, sides := range [][]int64{shape.Chunks, shape.Blocks} {
		if sides != nil && len(sides) != len(shape.Shape) {
			return nil, fault.New(fault.ErrInvalid, "shape", "", "chunks and blocks of other axes")
		}
	}
	if slices.ContainsFunc(slices.Concat(shape.Shape, shape.Chunks, shape.Blocks), func(n int64) bool { return n < 0 }) {
		return nil, fault.New(fault.ErrInvalid, "shape", "", "a side is negative")
	}
	shape.divide(t.size, or(spec.ChunkBytes, defaultChunkBytes), or(spec.BlockBytes, defaultBlockBytes))
	if err := shape.check(); err != nil {
		return nil, fault.New(fault.ErrInvalid, "shape", "", err.Error())
	}
	ext, _ := product(shape.extent())
	blocks, _ := product(shape.Blocks)
	cells, _ := product(shape.grid())
	if ext > blosc.MaxSize/t.size || blocks > blosc.MaxBlockSize/t.size || cells > maxChunks || ext == 0 && cells > 0 {
		return nil, fault.New(fault.ErrInvalid, "shape", "", "too many chunks, or too large ones")
	}
	spec.Params.TypeSize, spec.Params.BlockSize = int(t.size), int(blocks*t.size)
	spec.ChunkSize = int(ext * t.size)
	c, err := create(ctx, fs, name, spec, &shape, o)
	if err != nil {
		return nil, err
	}
	return c.(*NDArray), nil
}

// or is the default where n is 0.
func or(n, zero int64) int64 {
	if n == 0 {
		return zero
	}
	return n
}

// header is that of the new frame.
func (spec *Spec) header(shape *Shape) (h Header, entries []int64, err error) {
	p := spec.Params
	if p.Codec == 0 && p.Level == 0 && p.Filters == nil {
		p.Codec, p.Level, p.Filters = blosc.Zstd, 5, []blosc.Filter{5: {ID: blosc.Shuffle}}
	}
	if p.Split == blosc.SplitDefault {
		p.Split = blosc.SplitAuto
	}
	p.TypeSize = max(p.TypeSize, 1)
	h = Header{
		Version: 2, Sparse: spec.Sparse, TypeSize: p.TypeSize, BlockSize: p.BlockSize, ChunkSize: spec.ChunkSize,
		Codec: int(p.Codec), Level: p.Level, Split: int(p.Split), UseDict: p.Dictionary,
	}
	empty, err := blosc.Encode(nil, nil, p) // which finds whatever is wrong with them
	if err != nil {
		return h, nil, err
	}
	chunk, err := blosc.ParseHeader(empty)
	if err != nil {
		return h, nil, err
	}
	for i, f := range chunk.Filters {
		if f.ID == blosc.ByteDelta && f.Meta == 0 {
			f.Meta = lanes(h.TypeSize)
		}
		if f.Meta > 127 { // python-blosc2 could not open the frame
			return h, nil, fault.New(fault.ErrInvalid, "blosc2", "filters", "parameters go to 127")
		}
		h.Filters[i], h.FilterMetas[i] = byte(f.ID), f.Meta
	}
	if h.ChunkSize < 0 || h.ChunkSize%h.TypeSize != 0 {
		return h, nil, wrongSize(h.ChunkSize, int64(h.TypeSize))
	}
	if h.ChunkSize == 0 && shape == nil {
		h.ChunkSize = -1
	}
	if shape != nil {
		cells, _ := product(shape.grid())
		h.Size = cells * int64(h.ChunkSize)
		entries = slices.Repeat([]int64{Entry{Special: blosc.Zeros}.value()}, int(cells))
		if len(shape.Shape) == 0 && h.Size > math.MaxInt32 {
			err = wrongSize(h.ChunkSize, 0)
		}
	}
	return h, entries, err
}

// lanes is the parameter of the filter bytedelta for items of size bytes. 0
// stands for a lane a byte of an item, and python-blosc2 puts the number in
// its place when it opens a frame: for the items that it finds too large for
// that, those of several bytes share a lane.
func lanes(size int) byte {
	if size <= 127 {
		return 0
	}
	n := 127
	for size%n != 0 {
		n--
	}
	return byte(n)
}

func create(ctx context.Context, fs storage.FS, name string, spec Spec, shape *Shape, o Options) (Container, error) {
	o, err := o.checked()
	if err != nil {
		return nil, err
	}
	o.Write = true
	h, entries, err := spec.header(shape)
	if err != nil {
		return nil, err
	}
	if spec.OrOpen {
		c, err := spec.open(ctx, fs, name, shape != nil, o)
		if err == nil || !errors.Is(err, fault.ErrNotFound) {
			return c, err
		}
	}
	d := &draft{Header: h, entries: entries}
	if shape != nil {
		d.meta = []Metalayer{{shapeLayer, shape.append(nil)}}
	}
	for _, m := range spec.Meta {
		if err := d.setMeta(m.Name, m.Value); err != nil {
			return nil, err
		}
	}
	if spec.Checksums {
		if err := d.setSums(nil); err != nil {
			return nil, err
		}
		d.HasVLMeta = true
	}
	b, err := d.whole()
	if err != nil {
		return nil, err
	}
	if err := replaceable(ctx, fs, name, spec); err != nil {
		return nil, err
	}
	where := place{fs: fs, name: name, size: -1, sparse: spec.Sparse}
	s, err := newSibling(ctx, fs, name)
	if err != nil {
		return nil, err
	}
	tmp := where
	tmp.name = s.other()
	err = spec.make(ctx, tmp, b, o)
	if err == nil {
		err = where.locked(ctx, o, func() error { return take(ctx, fs, tmp.name, name, spec, o.Durability) })
	}
	if err != nil {
		err = errors.Join(err, removeFrame(context.WithoutCancel(ctx), fs, tmp.name, spec.Sparse))
	}
	if err = errors.Join(err, s.drop(ctx)); err != nil {
		return nil, err
	}
	o.made = true
	return openLeaf(ctx, where, o)
}

// open opens a frame that is there, if it is of that kind.
func (spec *Spec) open(ctx context.Context, fs storage.FS, name string, array bool, o Options) (Container, error) {
	c, err := Open(ctx, fs, name, o)
	if err != nil {
		return nil, err
	}
	switch c.(type) {
	case *NDArray:
		if array {
			return c, nil
		}
	case *SChunk:
		if !array {
			return c, nil
		}
	}
	return nil, errors.Join(fault.New(fault.ErrExists, "blosc2", name, "is a "+c.Kind()), c.Close())
}

// replaceable refuses to make a frame where something else is.
func replaceable(ctx context.Context, fs storage.FS, name string, spec Spec) error {
	info, err := fs.Stat(ctx, name)
	if errors.Is(err, fault.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if !spec.Replace {
		return storage.FileExists(name)
	}
	if info.Dir != spec.Sparse {
		return fault.New(fault.ErrExists, "blosc2", name, "is not a frame of that kind")
	}
	f, err := openFrame(ctx, place{fs: fs, name: name, size: -1, sparse: spec.Sparse}, Options{Limits: Limits{1 << 30, 1 << 30, 1 << 30}})
	if err != nil {
		return fault.New(fault.ErrExists, "blosc2", name, "is no frame")
	}
	err = f.close()
	if err != nil || !spec.Sparse {
		return err
	}
	files, err := fs.List(ctx, name)
	for _, file := range files {
		if file != chunksFile && path.Ext(file) != chunkSuffix && !leftOver(file) {
			return fault.New(fault.ErrExists, "blosc2", join(name, file), "is no file of the frame, which is left alone")
		}
	}
	return err
}

// make writes the new frame where nobody looks yet.
func (spec *Spec) make(ctx context.Context, where place, b []byte, o Options) error {
	if where.sparse {
		if err := where.fs.Mkdir(ctx, where.name); err != nil {
			return err
		}
	}
	f, err := where.fs.Open(ctx, where.main(), storage.OpenWrite|storage.OpenCreate|storage.OpenExclusive)
	if err != nil {
		return err
	}
	if err := written(f, b, o.Durability != SyncNever); err != nil {
		return err
	}
	if spec.Fill != nil {
		o.Locking = Unlocked // nobody else is here
		c, err := openLeaf(ctx, where, o)
		if err != nil {
			return err
		}
		err = spec.Fill(ctx, c)
		if err == nil {
			err = sequence(c).tidy(ctx)
		}
		if err = errors.Join(err, c.Close()); err != nil {
			return err
		}
	}
	if where.sparse && o.Durability != SyncNever {
		return where.fs.SyncDir(ctx, where.name)
	}
	return nil
}

// take gives the new frame its name. A directory cannot take the place of
// another in one step: for a moment there is none.
func take(ctx context.Context, fs storage.FS, tmp, name string, spec Spec, d Durability) error {
	if spec.Replace && spec.Sparse {
		if _, err := fs.Stat(ctx, name); err == nil {
			return swap(ctx, fs, tmp, name)
		}
	}
	rename := fs.RenameNoReplace
	if spec.Replace {
		rename = fs.Rename
	}
	if err := rename(ctx, tmp, name); err != nil {
		return err
	}
	if d == SyncNever {
		return nil
	}
	return fs.SyncDir(ctx, dirOf(name))
}

// removeFrame removes a file, or a directory with the files in it, if there is
// one.
func removeFrame(ctx context.Context, fs storage.FS, name string, dir bool) (err error) {
	if dir {
		err = removeTree(ctx, fs, name)
	} else {
		err = fs.Remove(ctx, name)
	}
	if errors.Is(err, fault.ErrNotFound) {
		return nil
	}
	return err
}
