package blosc2

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

var hostile = Options{Limits: Limits{Index: 1 << 20, Chunk: 1 << 20, Meta: 1 << 20}, Durability: SyncNever}

// holdings are what can be read of a frame: chunks by number, nil for one that
// cannot be, and variable-length metadata.
type holdings struct {
	chunks [][]byte
	vl     map[string][]byte
}

// most keeps a claim of many chunks cheap.
const most = 12

func holdingsOf(t *testing.T, ctx context.Context, s *SChunk) holdings {
	h := holdings{vl: map[string][]byte{}}
	for i := range min(s.NumChunks(), most) {
		b, err := s.Chunk(ctx, i, nil)
		if err != nil {
			refusal(t, err)
			b = nil
		} else if b == nil {
			b = []byte{}
		}
		h.chunks = append(h.chunks, b)
	}
	names, err := s.VLMeta(ctx)
	if err != nil {
		refusal(t, err)
	}
	for _, name := range names {
		if v, err := s.VLValue(ctx, name); err == nil {
			h.vl[name] = v
		} else {
			refusal(t, err)
		}
	}
	return h
}

// onlyFile is a file system with one file.
func onlyFile(t *testing.T, b []byte) *storage.MemoryFS {
	fs := storage.NewMemoryFS(0)
	w, err := fs.Open(t.Context(), "f", storage.OpenWrite|storage.OpenCreate)
	require.NoError(t, err)
	_, err = w.WriteAt(b, 0)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return fs
}

// framed opens the frame of a container that is one.
func framed(t *testing.T, fs storage.FS, o Options) (*SChunk, Container) {
	c, err := Open(t.Context(), fs, "f", o)
	if err != nil {
		refusal(t, err)
		return nil, nil
	}
	switch c := c.(type) {
	case *NDArray:
		return c.SChunk(), c
	case *SChunk:
		return c, c
	}
	require.NoError(t, c.Close())
	return nil, nil
}

// FuzzChange writes to containers of any bytes. Whatever a change does not
// touch is as readable afterwards as it was before, to those who open anew,
// and a change that is refused changes nothing.
func FuzzChange(f *testing.F) {
	for _, b := range goldens(f, "tiny/*.b2nd", "schunk/v*.b2frame", "vlblocks/*", "empty/*", "meta/*.b2nd") {
		if len(b) < 20_000 {
			for op := range uint8(9) {
				f.Add(b, op, uint8(op*7))
			}
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, op, at uint8) {
		ctx := t.Context()
		fs := onlyFile(t, b)
		s, c := framed(t, fs, hostile)
		if s == nil {
			return
		}
		was := holdingsOf(t, ctx, s)
		require.NoError(t, c.Close())

		o := hostile
		o.Write = true
		s, c = framed(t, fs, o)
		if s == nil {
			return
		}
		count := int(s.NumChunks())
		i := 0
		if count > 0 {
			i = int(at) % min(count, most)
		}
		data := bytes.Repeat([]byte{at, 1, op, 0}, 1<<10)
		if n := s.Header().ChunkSize; n > 0 && n < 1<<16 {
			data = bytes.Repeat([]byte{at}, n)
		}
		want := was
		want.chunks = append([][]byte(nil), was.chunks...)
		spare := func(k int) { // from k on nothing is held against what was
			want.chunks = want.chunks[:min(k, len(want.chunks))]
		}
		var err error
		switch op % 9 {
		case 0:
			err = s.AppendChunk(ctx, data)
		case 1:
			err = s.InsertChunk(ctx, int64(i), data)
			spare(i)
		case 2:
			err = s.UpdateChunk(ctx, int64(i), data)
			if len(want.chunks) > i {
				want.chunks[i] = nil
			}
		case 3:
			err = s.DeleteChunk(ctx, int64(i))
			spare(i)
		case 4:
			err = s.SetVLValue(ctx, "new", data)
			delete(want.vl, "new")
		case 5:
			err = s.Append(ctx, data[:len(data)/4])
			spare(max(count-1, 0)) // which is filled up
		case 6:
			err = s.Compact(ctx)
		case 7:
			err = s.AppendSpecial(ctx, blosc.Zeros, 3, nil)
			spare(max(count-1, 0))
		case 8:
			a, ok := c.(*NDArray)
			if !ok || len(a.Shape().Shape) == 0 {
				break
			}
			shape := append([]int64(nil), a.Shape().Shape...)
			shape[0] += 1 // chunks of other places move
			if grid := shape[0] / max(a.Shape().Chunks[0], 1); grid > 100 {
				break
			}
			err = a.Resize(ctx, shape)
			spare(0)
		}
		if err != nil {
			if code := fault.CodeOf(err); code != fault.CodeOutOfRange && code != fault.CodeReadOnly {
				refusal(t, err)
			}
			want = was
		}
		require.NoError(t, c.Close())

		s, c = framed(t, fs, hostile)
		require.NotNil(t, s, "does not open after %v", err)
		now := holdingsOf(t, ctx, s)
		require.GreaterOrEqual(t, len(now.chunks), len(want.chunks), "after %v", err)
		for k, b := range want.chunks {
			require.False(t, b != nil && !bytes.Equal(b, now.chunks[k]), "chunk %d after %v", k, err)
		}
		for name, v := range want.vl {
			require.True(t, bytes.Equal(v, now.vl[name]), "%s after %v", name, err)
		}
		require.NoError(t, c.Close())
	})
}

// FuzzVerify: what is found whole can be read, and Repair of anything leaves a
// container that opens, or the bytes as they were.
func FuzzVerify(f *testing.F) {
	for _, b := range goldens(f, "tiny/*.b2nd", "schunk/v*.b2frame", "vlblocks/*", "empty/*", "store/*.b2e") {
		if len(b) < 20_000 {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		ctx := t.Context()
		fs := onlyFile(t, b)
		if s, c := framed(t, fs, hostile); s != nil {
			damages := 0
			_, err := Verify(ctx, c, func(Damage) { damages++ })
			require.NoError(t, err)
			if damages == 0 && s.NumChunks() <= most {
				for i := range s.NumChunks() {
					_, err := s.Chunk(ctx, i, nil)
					require.NoError(t, err, "chunk %d, which was verified", i)
				}
			}
			require.NoError(t, c.Close())
		}
		r, err := Repair(ctx, fs, "f", hostile)
		if err != nil {
			refusal(t, err)
		}
		after, err := fs.Open(ctx, "f", storage.OpenRead)
		require.NoError(t, err)
		now := make([]byte, len(b))
		if len(b) > 0 {
			_, err = after.ReadAt(now, 0)
			require.NoError(t, err)
		}
		require.NoError(t, after.Close())
		if !r.Written {
			require.True(t, bytes.Equal(b, now))
			return
		}
		c, err := Open(ctx, fs, "f", hostile)
		require.NoError(t, err)
		require.NoError(t, c.Close())
	})
}

// FuzzStore reads archives of any bytes as the stores that they may be.
func FuzzStore(f *testing.F) {
	for _, b := range goldens(f, "store/*.b2z", "store/*.b2e", "corrupt/*.b2z") {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		ctx := t.Context()
		c, err := Open(ctx, onlyFile(t, b), "f", hostile)
		if err != nil {
			refusal(t, err)
			return
		}
		defer c.Close()
		if _, err := c.Describe(ctx); err != nil {
			refusal(t, err)
		}
		store, ok := c.(interface {
			Keys(context.Context) ([]string, error)
			Get(context.Context, string) (Container, error)
		})
		if !ok {
			return
		}
		keys, err := store.Keys(ctx)
		if err != nil {
			refusal(t, err)
		}
		for _, key := range keys[:min(len(keys), most)] {
			leaf, err := store.Get(ctx, key)
			if err != nil {
				refusal(t, err)
				continue
			}
			switch leaf := leaf.(type) {
			case *NDArray:
				holdingsOf(t, ctx, leaf.SChunk())
			case *SChunk:
				holdingsOf(t, ctx, leaf)
			}
			require.NoError(t, leaf.Close())
		}
		_, err = Verify(ctx, c, func(Damage) {})
		require.NoError(t, err)
	})
}
