package host_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/host"
	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// counted is n int32 from 0.
func counted(n int) []byte {
	b := make([]byte, 0, 4*n)
	for i := range n {
		b = binary.LittleEndian.AppendUint32(b, uint32(i))
	}
	return b
}

// natively opens a container without the sandbox.
func natively(t *testing.T, fs storage.FS, name string) blosc2.Container {
	c, err := blosc2.Open(t.Context(), fs, name, blosc2.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// TestWrites writes in the sandbox, with every codec, and reads natively.
func TestWrites(t *testing.T) {
	s := newSandbox(t, host.Config{Strict: true})
	fs := directory(t, t.TempDir())
	for _, codec := range []blosc.Codec{blosc.BloscLZ, blosc.LZ4, blosc.LZ4HC, blosc.Zlib, blosc.Zstd} {
		t.Run(codec.String(), func(t *testing.T) {
			name := codec.String() + ".b2nd"
			spec := host.ContainerSpec{Kind: "ndarray", Shape: blosc2.Shape{Shape: []int64{100, 33}, Chunks: []int64{40, 20}, Blocks: []int64{7, 11}, DType: "<i4"}, Data: counted(3300)}
			spec.Spec.Params = blosc.Params{Codec: codec, Level: 5, Filters: []blosc.Filter{5: {ID: blosc.Shuffle}}}
			c, err := s.CreateContainer(t.Context(), fs, name, spec)
			require.NoError(t, err)
			_, err = s.CreateContainer(t.Context(), fs, name, spec)
			require.ErrorIs(t, err, fault.ErrExists)
			b, err := c.Slice(t.Context(), []blosc2.Span{{Start: 99, Stop: 0, Step: -9}, {Start: 0, Stop: 33, Step: 16}}, nil)
			require.NoError(t, err)
			require.Len(t, b, 4*11*3)
			require.EqualValues(t, 99*33+16, binary.LittleEndian.Uint32(b[4:]))

			require.NoError(t, c.SetSlice(t.Context(), []blosc2.Span{{Start: 50, Stop: 51}, {Start: 1, Stop: 3}}, []byte{1, 0, 0, 0, 2, 0, 0, 0}))
			require.NoError(t, c.Resize(t.Context(), []int64{101, 33}))
			require.NoError(t, c.SetVLValue(t.Context(), "who", []byte("\xa2me")))
			st, err := c.State(t.Context())
			require.NoError(t, err)
			require.Equal(t, []int64{101, 33}, st.Shape)
			require.Equal(t, []string{"who"}, st.VLMeta)
			require.NoError(t, c.Compact(t.Context()))
			require.NoError(t, c.Close())
			_, err = c.State(t.Context())
			require.ErrorIs(t, err, fault.ErrClosed)

			want := counted(101 * 33)
			clear(want[3300*4:])
			copy(want[(50*33+1)*4:], []byte{1, 0, 0, 0, 2, 0, 0, 0})
			a := natively(t, fs, name).(*blosc2.NDArray)
			got, err := a.Slice(t.Context(), nil, nil)
			require.NoError(t, err)
			require.True(t, bytes.Equal(want, got))
			who, err := a.SChunk().VLObject(t.Context(), "who")
			require.NoError(t, err)
			require.Equal(t, "me", who)
		})
	}
	require.Zero(t, s.Files())
}

func TestWritesSequences(t *testing.T) {
	s := newSandbox(t, host.Config{})
	fs := directory(t, t.TempDir())
	spec := host.ContainerSpec{Kind: "schunk", Data: counted(1000)}
	spec.Spec = blosc2.Spec{Params: blosc.Params{Codec: blosc.LZ4, Level: 5, TypeSize: 4}, ChunkSize: 1600, Meta: []blosc2.Metalayer{{Name: "m", Value: []byte{1}}}}
	c, err := s.CreateContainer(t.Context(), fs, "s.b2frame", spec)
	require.NoError(t, err)
	require.NoError(t, c.Append(t.Context(), counted(300)))
	require.NoError(t, c.UpdateChunk(t.Context(), 0, make([]byte, 1600)))
	require.NoError(t, c.InsertChunk(t.Context(), 1, counted(400)))
	require.NoError(t, c.DeleteChunk(t.Context(), 0))
	require.NoError(t, c.SetSlice(t.Context(), []blosc2.Span{{Start: 2, Stop: 3}}, []byte("four")))
	require.NoError(t, c.SetVLValue(t.Context(), "a", []byte{0xc0}))
	require.NoError(t, c.DeleteVL(t.Context(), "a"))
	require.ErrorIs(t, c.DeleteVL(t.Context(), "a"), fault.ErrNotFound)
	require.ErrorIs(t, c.DeleteChunk(t.Context(), 99), fault.ErrOutOfRange)
	require.ErrorIs(t, c.Resize(t.Context(), []int64{1}), fault.ErrInvalid)
	m, err := c.Metalayer(t.Context(), "m")
	require.NoError(t, err)
	require.Equal(t, []byte{1}, m)
	want := append(counted(400), counted(1000)[1600:]...)
	want = append(want, counted(300)...)
	copy(want[8:], "four")
	got, err := whole(t, c)
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, got))
	every, err := c.Slice(t.Context(), []blosc2.Span{{Start: 1299, Stop: -1, Step: -100}}, nil)
	require.NoError(t, err)
	require.Equal(t, want[1299*4:], every[:4])
	require.Equal(t, want[99*4:100*4], every[12*4:])

	reader, err := s.OpenContainer(t.Context(), fs, "s.b2frame", host.ContainerOptions{})
	require.NoError(t, err)
	require.ErrorIs(t, reader.Append(t.Context(), nil), fault.ErrReadOnly)
	changed, err := reader.Refresh(t.Context())
	require.NoError(t, err)
	require.False(t, changed)
	require.NoError(t, c.Append(t.Context(), counted(1)))
	changed, err = reader.Refresh(t.Context())
	require.NoError(t, err)
	require.True(t, changed)
	st, err := reader.State(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1301*4, st.Size)
	require.EqualValues(t, 1, st.Tick)
	require.NoError(t, reader.Close())
	require.NoError(t, c.Close())
}

func TestWritesStores(t *testing.T) {
	s := newSandbox(t, host.Config{})
	fs := directory(t, t.TempDir())
	// A leaf in the instance's own memory would do as well.
	leaf, err := s.CreateContainer(t.Context(), fs, "leaf.b2nd", host.ContainerSpec{Kind: "ndarray", Shape: blosc2.Shape{Shape: []int64{10}, DType: "<i4"}, Data: counted(10)})
	require.NoError(t, err)
	for _, kind := range []string{"embedstore", "dictstore", "treestore"} {
		st, err := s.CreateContainer(t.Context(), fs, kind, host.ContainerSpec{Kind: kind})
		require.NoError(t, err)
		require.NoError(t, st.Put(t.Context(), "/a/b", leaf))
		require.NoError(t, st.Put(t.Context(), "/c", leaf))
		require.NoError(t, st.Delete(t.Context(), "/c"))
		require.ErrorIs(t, st.Delete(t.Context(), "/c"), fault.ErrNotFound)
		keys, err := st.Keys(t.Context())
		require.NoError(t, err)
		require.Contains(t, keys, "/a/b")
		if kind == "treestore" {
			names, err := st.Children(t.Context(), "/a")
			require.NoError(t, err)
			require.Equal(t, []string{"b"}, names)
		}
		checked, err := st.Verify(t.Context(), func(d blosc2.Damage) { t.Error(d) })
		require.NoError(t, err)
		require.Positive(t, checked)
		name := kind
		if kind != "embedstore" {
			name += ".b2z"
			require.NoError(t, st.ToB2Z(t.Context(), fs, name, false))
			require.ErrorIs(t, st.ToB2Z(t.Context(), fs, name, false), fault.ErrExists)
		} else {
			require.ErrorIs(t, st.ToB2Z(t.Context(), fs, "x", false), fault.ErrInvalid)
		}
		require.NoError(t, st.Close())
		again, err := s.OpenContainer(t.Context(), fs, name, host.ContainerOptions{})
		require.NoError(t, err)
		got, err := again.Get(t.Context(), "/a/b")
		require.NoError(t, err)
		b, err := whole(t, got)
		require.NoError(t, err)
		require.Equal(t, counted(10), b)
		require.NoError(t, again.Close())
		_, err = whole(t, got)
		require.ErrorIs(t, err, fault.ErrClosed)
		require.NoError(t, got.Close())
	}
	require.NoError(t, leaf.Close())
	require.Zero(t, s.Files())
	require.Zero(t, s.Handles())
}

// TestContainerDeath kills the guest under open containers: they open
// themselves again, and what was committed is there.
func TestContainerDeath(t *testing.T) {
	s := newSandbox(t, host.Config{})
	dir := t.TempDir()
	fs := directory(t, dir)
	c, err := s.CreateContainer(t.Context(), fs, "a.b2nd", host.ContainerSpec{Kind: "ndarray", Shape: blosc2.Shape{Shape: []int64{10}, DType: "<i4"}, Data: counted(10)})
	require.NoError(t, err)
	st, err := s.CreateContainer(t.Context(), fs, "d", host.ContainerSpec{Kind: "dictstore"})
	require.NoError(t, err)
	require.NoError(t, st.Put(t.Context(), "/x", c))
	leaf, err := st.Get(t.Context(), "/x")
	require.NoError(t, err)
	require.ErrorIs(t, s.Trap(), fault.ErrInternal)
	require.Zero(t, s.Files(), "they went with the instance")
	b, err := whole(t, leaf)
	require.NoError(t, err)
	require.Equal(t, counted(10), b)
	require.NoError(t, c.SetSlice(t.Context(), []blosc2.Span{{Start: 0, Stop: 1}}, []byte{7, 0, 0, 0}))
	require.ErrorIs(t, s.Trap(), fault.ErrInternal)
	b, err = whole(t, c)
	require.NoError(t, err)
	require.EqualValues(t, 7, b[0])
	require.ErrorIs(t, s.Trap(), fault.ErrInternal)
	require.NoError(t, os.Remove(filepath.Join(dir, "a.b2nd")))
	_, err = whole(t, c)
	require.ErrorIs(t, err, fault.ErrNotFound)
	require.NoError(t, leaf.Close())
	require.NoError(t, st.Close())
	require.NoError(t, c.Close())
}

// slowFS fails or is cancelled at read n of its files.
type slowFS struct {
	storage.FS
	at func() error
}

type slowFile struct {
	storage.File
	at func() error
}

func (s *slowFS) Open(ctx context.Context, name string, flags storage.OpenFlag) (storage.File, error) {
	f, err := s.FS.Open(ctx, name, flags)
	return &slowFile{f, s.at}, err
}

func (s *slowFile) ReadAt(b []byte, off int64) (int, error) {
	if err := s.at(); err != nil {
		return 0, err
	}
	return s.File.ReadAt(b, off)
}

func TestContainerCancelled(t *testing.T) {
	s := newSandbox(t, host.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	reads, stop, boom, panics := 0, 0, error(nil), false
	fs := &slowFS{directory(t, containers), func() error {
		if reads++; reads == stop {
			cancel()
			if panics {
				panic("a fault of the file system")
			}
			return boom
		}
		return nil
	}}
	slice := func(ctx context.Context) error {
		stop = 0
		c, err := s.OpenContainer(t.Context(), fs, "ndim/2d.b2nd", host.ContainerOptions{})
		require.NoError(t, err)
		stop = reads + 2
		_, err = c.Slice(ctx, nil, nil)
		require.NoError(t, c.Close())
		return err
	}
	err := slice(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, fault.ErrCancelled)
	boom = fault.New(fault.ErrIO, "disk", "", "on fire")
	err = slice(t.Context())
	require.ErrorIs(t, err, fault.ErrIO)
	require.ErrorContains(t, err, "on fire")
	boom = errors.New("bare")
	require.ErrorIs(t, slice(t.Context()), fault.ErrIO)
	boom, panics = nil, true
	require.ErrorIs(t, slice(t.Context()), fault.ErrInternal)
	panics = false
	require.NoError(t, slice(t.Context()))
	require.Zero(t, s.Files())
	require.EqualValues(t, 1, s.Serial())
}

// TestContainerOutOfMemory reads chunks of every size in a guest of 16 MiB:
// what it cannot hold is refused, or ends the instance and nothing else.
func TestContainerOutOfMemory(t *testing.T) {
	s := newSandbox(t, host.Config{Memory: 16 << 20})
	fs := directory(t, t.TempDir())
	good, err := s.OpenContainer(t.Context(), directory(t, containers), "ndim/2d.b2nd", host.ContainerOptions{})
	require.NoError(t, err)
	want, err := whole(t, good)
	require.NoError(t, err)
	refused := 0
	for _, size := range []int{1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 23, 1 << 25} {
		spec := blosc2.Spec{Params: blosc.Params{Codec: blosc.LZ4, Level: 1, TypeSize: 1}, ChunkSize: size, Replace: true}
		c, err := blosc2.CreateSChunk(t.Context(), fs, "s", spec, blosc2.Options{})
		require.NoError(t, err)
		data := bytes.Repeat([]byte("0123456789abcdef"), size/16)
		require.NoError(t, c.Append(t.Context(), data))
		require.NoError(t, c.Close())
		boxed, err := s.OpenContainer(t.Context(), fs, "s", host.ContainerOptions{})
		require.NoError(t, err)
		got, err := boxed.Chunk(t.Context(), 0, nil)
		if err != nil {
			refused++
			require.Contains(t, []fault.Code{fault.CodeLimit, fault.CodeInternal}, fault.CodeOf(err), err)
		} else {
			require.True(t, bytes.Equal(data, got))
		}
		some, err := boxed.Slice(t.Context(), []blosc2.Span{{Start: int64(size) - 16, Stop: int64(size)}}, nil)
		if err == nil {
			require.Equal(t, data[:16], some)
		}
		require.NoError(t, boxed.Close())
		b, err := whole(t, good)
		require.NoError(t, err)
		require.Equal(t, want, b)
	}
	t.Log("refused", refused, "instances", s.Serial())
	require.Positive(t, refused)
	require.NoError(t, good.Close())
	require.Zero(t, s.Files())
}

// TestContainersAgreeOnDamage changes a few bytes of containers that the peer
// wrote and reads them natively and in the sandbox.
func TestContainersAgreeOnDamage(t *testing.T) {
	s := newSandbox(t, host.Config{Memory: 400 << 20, Strict: true})
	dir := t.TempDir()
	fs := directory(t, dir)
	mutants, refused := 0, 0
	for _, e := range containerEntries(t) {
		b, err := os.ReadFile(filepath.Join(containers, e.File))
		if err != nil || len(b) > 1<<17 || e.Keys != nil {
			continue // a directory, or a store
		}
		r := seeded(e.File)
		for range 2 {
			mutants++
			m := changed(r, b)
			writeLongAgo(t, filepath.Join(dir, "m"), m)
			want, nativeErr := readContainer(t, fs, "m")
			got, err := readContainerInSandbox(t, s, fs, "m")
			require.Equal(t, nativeErr == nil, err == nil, "%s: natively %v, in the sandbox %v", e.File, nativeErr, err)
			if err != nil {
				refused++
				damage := []fault.Code{fault.CodeCorrupt, fault.CodeLimit, fault.CodeUnsupported, fault.CodeNotFound}
				require.Contains(t, damage, fault.CodeOf(nativeErr), nativeErr)
				require.Contains(t, damage, fault.CodeOf(err), err)
				continue
			}
			require.True(t, bytes.Equal(want, got), e.File)
		}
	}
	t.Logf("%d damaged containers, %d refused", mutants, refused)
	require.Greater(t, refused, mutants/4)
	require.Less(t, refused, mutants)
	require.EqualValues(t, 1, s.Serial())
	require.Zero(t, s.Files())
}

// TestContainerObjects opens objects of a store.
func TestContainerObjects(t *testing.T) {
	s := newSandbox(t, host.Config{})
	st := loadDir(t, filepath.Join(containers, "store"))
	for _, name := range []string{"tree.b2z", "embed.b2e"} {
		c, err := s.OpenContainerObject(t.Context(), st, name)
		require.NoError(t, err)
		for _, e := range containerEntries(t) {
			if e.File != "store/"+name {
				continue
			}
			for key, k := range e.Keys {
				if k.Type == "TreeStore" {
					continue
				}
				l, err := c.Get(t.Context(), key)
				require.NoError(t, err, key)
				b, err := whole(t, l)
				require.NoError(t, err)
				require.Equal(t, k.SHA256, sum(b), key)
				require.NoError(t, l.Close())
			}
		}
		require.NoError(t, c.Close())
	}
	_, err := s.OpenContainerObject(t.Context(), st, "none.b2nd")
	require.ErrorIs(t, err, fault.ErrNotFound)
}
