package main

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// frameExtensions are those of files that are one frame.
var frameExtensions = []string{".b2nd", ".b2frame", ".b2f", ".b2b"}

// isFrame and isStore tell from a name what a copy of that name is to be:
// one frame, or a store of frames; otherwise it is a directory of Zarr.
func isFrame(name string) bool { return slices.Contains(frameExtensions, filepath.Ext(name)) }
func isStore(name string) bool { return filepath.Ext(name) == ".b2z" || filepath.Ext(name) == ".b2d" }

// frameFlags are those of copyFlags that are about frames.
type frameFlags struct {
	parts  blosc2.Shape // chunks and blocks; nil: like the source, or chosen
	params blosc.Params // zero: like the source, or the library's choice
}

// frames reads the flags for a copy with so many axes; -1: not an array.
func (f copyFlags) frames(axes int) (ff frameFlags, err error) {
	if f.shards != "" || f.indexAtStart || f.order != "c" {
		return ff, usagef("--shards, --index-at-start and --order go with copies to Zarr")
	}
	for _, flag := range []struct {
		name, text string
		shape      *[]int64
	}{{"--chunks", f.chunks, &ff.parts.Chunks}, {"--blocks", f.blocks, &ff.parts.Blocks}} {
		if flag.text == "" {
			continue
		}
		if axes < 0 {
			return ff, usagef("%s goes with arrays", flag.name)
		}
		if *flag.shape, err = parseShape(flag.name, flag.text, axes); err != nil {
			return ff, err
		}
	}
	ff.params, err = parseBlosc(f.codec)
	return ff, err
}

// parseBlosc reads --codec for frames.
func parseBlosc(text string) (blosc.Params, error) {
	if text == "" {
		return blosc.Params{}, nil
	}
	name, level, leveled := strings.Cut(text, ":")
	p := blosc.Params{Codec: blosc.BloscLZ, Level: 5, Filters: []blosc.Filter{5: {ID: blosc.Shuffle}}}
	if leveled {
		n, err := parseNumber(level)
		if err != nil || n > 9 {
			return p, usagef("--codec %s: want a level of 0 to 9 after the colon", text)
		}
		p.Level = int(n)
	}
	if name == "none" && !leveled {
		p.Level = 0
		return p, nil
	}
	codec, ok := blosc.CodecNamed(name)
	if !ok || codec > blosc.Zstd || codec == blosc.Snappy {
		return p, usagef("--codec %s: want blosclz, lz4, lz4hc, zlib, zstd or none", text)
	}
	p.Codec = codec
	return p, nil
}

// frameOptions are those of frames that a copy makes.
var frameOptions = blosc2.Options{Workers: runtime.GOMAXPROCS(0)}

// frameTarget is where frames of a copy go: a directory, and names in it.
type frameTarget struct {
	fs        storage.FS
	overwrite bool
	checksums bool
	p         *progress
}

// spec is that of one frame.
func (t *frameTarget) spec(ff frameFlags, fill func(ctx context.Context, s *blosc2.SChunk) error) blosc2.Spec {
	spec := blosc2.Spec{Params: ff.params, Replace: t.overwrite, Checksums: t.checksums}
	if fill != nil {
		spec.Fill = func(ctx context.Context, c blosc2.Container) error {
			s, ok := c.(*blosc2.SChunk)
			if a, isArray := c.(*blosc2.NDArray); isArray {
				s, ok = a.SChunk(), true
			}
			if !ok {
				return nil
			}
			return fill(ctx, s)
		}
	}
	return spec
}

// zarrArray makes a frame of an array of Zarr.
func (t *frameTarget) zarrArray(ctx context.Context, s *source, src *zarr.Array, name string, f copyFlags) error {
	shape := blosc2.Shape{Shape: src.Shape()}
	ff, err := f.frames(len(shape.Shape))
	if err != nil {
		return err
	}
	if shape.DType, err = numpyType(src.TypeText()); err != nil {
		return err
	}
	from, err := s.engine.openArray(ctx, s.store, src.Path())
	if err != nil {
		return err
	}
	defer from.Close()
	shape.Chunks, shape.Blocks = ff.parts.Chunks, ff.parts.Blocks
	if shape.Chunks == nil && shape.Blocks == nil {
		shape.Chunks, shape.Blocks = alike(from.shape(), shape.Shape)
	}
	spec := t.spec(ff, func(ctx context.Context, to *blosc2.SChunk) error {
		return setAttributes(ctx, to, src.Attributes())
	})
	attributes := spec.Fill
	spec.Fill = func(ctx context.Context, c blosc2.Container) error {
		err := c.(*blosc2.NDArray).Fill(ctx, from.copyOfRegion, t.steps(from.shape().bytes(shape.Shape)))
		if err == nil {
			err = attributes(ctx, c)
		}
		return err
	}
	t.p.begin("/" + src.Path())
	defer t.p.end()
	a, err := blosc2.CreateArray(ctx, t.fs, name, shape, spec, frameOptions)
	if err != nil {
		return err
	}
	return a.Close()
}

// wholeChunk is the most bytes of a chunk of Zarr that becomes one of a frame:
// larger ones, shards mostly, are cut anew, because a frame's are decoded and
// encoded as a whole.
const wholeChunk = 64 << 20

// alike are chunks, and the blocks that subchunks make; nil where the library
// is to choose.
func alike(d *description, shape []int64) (chunks, blocks []int64) {
	if d.ChunkShape == nil || d.bytes(d.ChunkShape) > wholeChunk || slices.Contains(shape, 0) {
		return nil, nil
	}
	chunks = slices.Clone(d.ChunkShape)
	for i := range chunks {
		chunks[i] = min(chunks[i], shape[i])
	}
	if slices.Equal(d.SubchunkShape, d.ChunkShape) || d.SubchunkShape == nil {
		return chunks, nil
	}
	blocks = slices.Clone(d.SubchunkShape)
	for i := range blocks {
		blocks[i] = min(blocks[i], chunks[i])
	}
	return chunks, blocks
}

// steps shows how many chunks of so many bytes in all are done.
func (t *frameTarget) steps(size int64) func(chunks, total int64) {
	return func(chunks, total int64) {
		t.p.step(zarr.Copied{Chunks: chunks, Total: total, Bytes: int64(float64(size) * float64(chunks) / float64(max(total, 1)))})
	}
}

// extension is that of the file of a leaf.
func extension(c copyLeaf) string {
	switch c.Kind() {
	case "ndarray":
		return ".b2nd"
	case "batcharray":
		return ".b2b"
	}
	return ".b2f"
}

// openParent opens the directory that a name is in, which the copy appears in.
// at is the absolute name: of what a link leads to, or the link would be
// replaced.
func openParent(name string) (fs *file.FS, at string, err error) {
	at, err = filepath.Abs(name)
	if err != nil || name == "" {
		return nil, "", usagef("DST is empty")
	}
	if real, err := filepath.EvalSymlinks(at); err == nil {
		at = real
	}
	fs, err = file.OpenFS(filepath.Dir(at))
	return fs, at, err
}

// copyToFrame makes one frame of what the source names.
func copyToFrame(ctx context.Context, s *source, name string, f copyFlags, p *progress) (err error) {
	fs, at, err := openParent(name)
	if err != nil {
		return failed(name, err)
	}
	base := filepath.Base(at)
	defer func() { err = errors.Join(err, fs.Close()) }()
	t := &frameTarget{fs: fs, overwrite: f.overwrite, checksums: f.checksums, p: p}
	if s.opened != nil {
		leaf, err := s.opened.leafAt(ctx, "")
		if err == nil {
			err = leaf.copyTo(ctx, t, base, base, f)
		}
		return failed(name, err)
	}
	n, err := zarr.Open(ctx, s.store, s.path, zarr.Options{Codecs: s.codecs})
	if err != nil {
		return failed(s.path, err)
	}
	src, ok := n.(*zarr.Array)
	if !ok {
		return failed(name, fault.New(fault.ErrInvalid, "copy", "", "a group is no array: choose one with --path, or copy it to a name that ends in .b2z or .b2d"))
	}
	return failed(name, t.zarrArray(ctx, s, src, base, f))
}
