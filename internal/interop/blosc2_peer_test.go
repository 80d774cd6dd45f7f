package interop

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/storage"
)

var writing = blosc2.Options{Write: true, Durability: blosc2.SyncNever}

// pythonBlosc2 starts, once, the process of python-blosc2.
func pythonBlosc2(t *testing.T) *peer {
	t.Helper()
	requirePeers(t)
	p, err := start("python-blosc2")
	require.NoError(t, err)
	return p
}

// outcome is what came of a job.
type outcome struct {
	Refused string `json:"refused"`
	Packed  int64  `json:"packed"`
	state
	Leaves map[string]state `json:"leaves"`
}

// jobs asks for many things at once, in the directory dir.
func (p *peer) jobs(t *testing.T, do, dir string, jobs any) []outcome {
	t.Helper()
	var said struct {
		Refused  string    `json:"refused"`
		Outcomes []outcome `json:"outcomes"`
	}
	p.exchange(t, map[string]any{"do": do, "dir": dir, "jobs": jobs}, &said)
	require.Empty(t, said.Refused)
	return said.Outcomes
}

// state is what a container holds. Data are SHA-256.
type state struct {
	Kind     string            `json:"kind"`
	TypeSize int               `json:"type_size"`
	VLMeta   map[string][]byte `json:"vlmeta"` // MessagePack

	// Of a sequence of items.
	ChunkSize int      `json:"chunk_size"`
	Chunks    []string `json:"chunks"`
	Sizes     []int    `json:"sizes"`

	// Of an array.
	Shape      []int64 `json:"shape"`
	ChunkShape []int64 `json:"chunk_shape"`
	BlockShape []int64 `json:"block_shape"`
	DType      string  `json:"dtype"`
	Data       string  `json:"data"` // C order, as stored

	Values [][]byte `json:"values"` // of arrays of objects: MessagePack
}

// name is the name of a container that is only read.
type name struct {
	Name string `json:"name"`
}

// named are jobs about the containers of a table.
func named(count int) []name {
	names := make([]name, count)
	for i := range names {
		names[i].Name = folder(i)
	}
	return names
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// look reads a container, all of it.
func look(t *testing.T, fs storage.FS, name string) outcome {
	t.Helper()
	c, err := blosc2.Open(t.Context(), fs, name, blosc2.Options{})
	if err != nil {
		return outcome{Refused: err.Error()}
	}
	defer func() { require.NoError(t, c.Close()) }()
	s, err := stateOf(t.Context(), c)
	if err == nil {
		_, err = blosc2.Verify(t.Context(), c, func(d blosc2.Damage) { t.Errorf("%s: %v", name, d) })
	}
	if err != nil {
		return outcome{Refused: err.Error()}
	}
	return outcome{state: s}
}

func stateOf(ctx context.Context, c blosc2.Container) (state, error) {
	s := state{Kind: c.Kind(), VLMeta: map[string][]byte{}}
	var frame *blosc2.SChunk
	switch c := c.(type) {
	case *blosc2.NDArray:
		frame = c.SChunk()
		shape := c.Shape()
		s.Shape, s.ChunkShape, s.BlockShape, s.DType = shape.Shape, shape.Chunks, shape.Blocks, shape.DType
		data, err := c.Slice(ctx, nil, nil)
		if err != nil {
			return s, err
		}
		s.Data = digest(data)
	case *blosc2.SChunk:
		frame = c
		s.ChunkSize = max(c.Header().ChunkSize, 0)
		s.Chunks, s.Sizes = []string{}, []int{}
		for b, err := range c.Chunks(ctx) {
			if err != nil {
				return s, err
			}
			s.Chunks, s.Sizes = append(s.Chunks, digest(b)), append(s.Sizes, len(b))
		}
	default:
		return s, fmt.Errorf("a %s", c.Kind())
	}
	s.TypeSize = frame.Header().TypeSize
	vlmeta, err := frame.VLMeta(ctx)
	if err != nil {
		return s, err
	}
	for _, name := range vlmeta {
		value, err := frame.VLValue(ctx, name)
		if err != nil {
			return s, err
		}
		s.VLMeta[name] = value
	}
	return s, nil
}

// params are those of a frame as the peer takes them.
type params struct {
	Codec      int      `json:"codec"`
	Level      int      `json:"level"`
	TypeSize   int      `json:"type_size"`
	BlockSize  int      `json:"block_size"`
	Split      int      `json:"split"`
	Dictionary bool     `json:"dictionary"`
	Filters    []filter `json:"filters"`
}

type filter struct {
	ID   int `json:"id"`
	Meta int `json:"meta"`
}

func asParams(p blosc.Params) params {
	q := params{
		Codec: int(p.Codec), Level: p.Level, TypeSize: p.TypeSize, BlockSize: p.BlockSize, Split: int(p.Split), Dictionary: p.Dictionary,
		Filters: []filter{},
	}
	if p.Split == blosc.SplitDefault {
		q.Split = int(blosc.SplitAuto)
	}
	for _, f := range p.Filters {
		q.Filters = append(q.Filters, filter{int(f.ID), int(f.Meta)})
	}
	return q
}

// folderFS is a directory for one test, here and as a file system.
func folderFS(t *testing.T) (string, storage.FS) {
	t.Helper()
	dir := t.TempDir()
	fs, err := file.OpenFS(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, fs.Close()) })
	return dir, fs
}
