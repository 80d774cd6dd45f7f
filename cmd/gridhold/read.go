package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/gridhold/gridhold/sdk/fault"
)

func newRead(g *globals) *cobra.Command {
	var region, subchunk, chunk, file string
	var number int64
	var encoded, npy bool
	c := command(g, "read", "Write elements of an array", `Write elements of an array as raw bytes: C order, little endian, bool one byte,
complex re then im. The whole array, unless a flag selects.

A subchunk or chunk is written at its full shape also where it reaches past
the array's edge.`,
		func(ctx context.Context, c *cobra.Command, s *source) error {
			given := func(name string, value *string) *string {
				if c.Flags().Changed(name) {
					return value
				}
				return nil
			}
			sel, err := parseSelection(given("region", &region), given("subchunk", &subchunk), given("chunk", &chunk))
			switch {
			case err != nil:
				return err
			case encoded && npy:
				return usagef("--encoded and --npy exclude each other")
			case encoded && sel.subchunk == nil && sel.chunk == nil:
				return usagef("--encoded goes with --subchunk or --chunk")
			}
			k := &number
			if !c.Flags().Changed("image") {
				k = nil
			}
			switch {
			case s.images == nil && k != nil:
				return usagef("--image goes with image files and tables of images")
			case s.images != nil:
				b, dataType, done, err := s.images.block(ctx, sel, k)
				if err != nil {
					return err
				}
				return errors.Join(b.writeTo(ctx, file, c.OutOrStdout(), npy, dataType), done())
			}
			if s.opened != nil {
				b, dataType, err := s.opened.block(sel, encoded)
				if err != nil {
					return err
				}
				return b.writeTo(ctx, file, c.OutOrStdout(), npy, dataType)
			}
			a, err := s.engine.openArray(ctx, s.store, s.path)
			if err != nil {
				return err
			}
			defer a.Close()
			var b *block
			if encoded {
				b, err = encodedBlock(s, a, sel)
			} else {
				b, err = decodedBlock(a, sel)
			}
			if err != nil {
				return err
			}
			return b.writeTo(ctx, file, c.OutOrStdout(), npy, a.shape().DataType)
		})
	finish := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		err := finish(c, args)
		if err == nil {
			err = g.explainTo(c.ErrOrStderr())
		}
		return err
	}
	f := c.Flags()
	f.BoolVar(&g.explain, "explain", false, "say on standard error what the read cost: requests, bytes, index loads, waits, decoding")
	f.StringVar(&g.index, "index", "", "index `PACK` of the array, as \"index build\" makes it: a path or a URL")
	f.StringVar(&region, "region", "", "elements `a:b,c:d`, an axis each; : is all of an axis, k is k:k+1")
	f.StringVar(&subchunk, "subchunk", "", "subchunk `i,j` of the subchunk grid, or its number")
	f.StringVar(&chunk, "chunk", "", "chunk (a whole shard) `i,j` of the chunk grid, or its number")
	f.Int64Var(&number, "image", 0, "image `k` of a file of images, or of what row k of a table names; both count from 0")
	f.BoolVar(&encoded, "encoded", false, "the bytes of the subchunk or chunk as they are stored")
	f.BoolVar(&npy, "npy", false, "put a NumPy header in front")
	f.StringVarP(&file, "output", "o", "", "write to `FILE`, which appears when it is whole")
	return c
}

// block is what read writes: a shape, and how its bytes come.
type block struct {
	shape []int64
	write func(ctx context.Context, w io.Writer) error
}

// writeTo writes the block to a file, or to stdout if there is no name.
func (b *block) writeTo(ctx context.Context, file string, stdout io.Writer, npy bool, dataType string) error {
	var header []byte
	if npy {
		var err error
		if header, err = npyHeader(dataType, b.shape); err != nil {
			return err
		}
	}
	out, err := create(file, stdout)
	if err != nil {
		return failed(file, err)
	}
	return out.close(func() error {
		if len(header) > 0 {
			if _, err := out.Write(header); err != nil {
				return err
			}
		}
		return b.write(ctx, out)
	}())
}

// decodedBlock is the elements of a selection.
func decodedBlock(a array, sel selection) (*block, error) {
	d := a.shape()
	switch {
	case sel.subchunk != nil:
		at, err := sel.subchunk.in(d.SubchunkGridShape, "subchunk")
		if err != nil {
			return nil, err
		}
		return &block{d.subchunk(at), func(ctx context.Context, w io.Writer) error {
			elements, err := a.subchunk(ctx, at)
			return writeAll(w, elements, err)
		}}, nil
	case sel.chunk != nil:
		at, err := sel.chunk.in(d.ChunkGridShape, "chunk")
		if err != nil {
			return nil, err
		}
		_, shape := d.chunk(at)
		return &block{shape, func(ctx context.Context, w io.Writer) error {
			return writeChunk(ctx, a, w, at)
		}}, nil
	}
	start, stop, err := bounds(sel.region, d.Shape)
	if err != nil {
		return nil, err
	}
	return &block{shapeOf(start, stop), func(ctx context.Context, w io.Writer) error {
		return stream(ctx, a, w, start, stop, inMemory)
	}}, nil
}

// encodedBlock is the stored bytes of a subchunk or chunk.
func encodedBlock(s *source, a array, sel selection) (*block, error) {
	d := a.shape()
	if sel.chunk != nil {
		at, err := sel.chunk.in(d.ChunkGridShape, "chunk")
		return &block{write: func(ctx context.Context, w io.Writer) error {
			return copyObject(ctx, s.store, chunkKey(s.path, d, at), w)
		}}, err
	}
	at, err := sel.subchunk.in(d.SubchunkGridShape, "subchunk")
	return &block{write: func(ctx context.Context, w io.Writer) error {
		stored, err := a.encodedSubchunk(ctx, at)
		if err == nil && stored == nil {
			err = fault.New(fault.ErrNotFound, "subchunk", index(at).String(), "nothing is stored, it holds the fill value")
		}
		return writeAll(w, stored, err)
	}}, err
}

func writeAll(w io.Writer, b []byte, err error) error {
	if err == nil {
		_, err = w.Write(b)
	}
	return err
}
