package zip_test

import (
	archive "archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/storage/storagetest"
	"github.com/gridhold/gridhold/sdk/zip"
)

// pack makes an archive of the objects, as the standard library writes them.
func pack(t *testing.T, objects map[string][]byte, method uint16) []byte {
	t.Helper()
	var b bytes.Buffer
	w := archive.NewWriter(&b)
	_, err := w.Create("dir/") // directories are no members
	require.NoError(t, err)
	keys := []string{}
	for key := range objects {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		h := &archive.FileHeader{Name: key, Method: method}
		var f interface{ Write([]byte) (int, error) }
		if method == zip.Stored {
			h.CRC32, h.UncompressedSize64 = crc32.ChecksumIEEE(objects[key]), uint64(len(objects[key]))
			h.CompressedSize64 = h.UncompressedSize64
			f, err = w.CreateRaw(h)
		} else {
			f, err = w.CreateHeader(h)
		}
		require.NoError(t, err)
		_, err = f.Write(objects[key])
		require.NoError(t, err)
	}
	require.NoError(t, w.SetComment("a comment"))
	require.NoError(t, w.Close())
	return b.Bytes()
}

func open(t *testing.T, inner storage.Store, o zip.Options) *zip.Store {
	t.Helper()
	s, err := zip.Open(t.Context(), inner, "a.zip", o)
	require.NoError(t, err)
	return s
}

func memory(b []byte) *storage.Memory {
	m := storage.NewMemory()
	m.Set("a.zip", b)
	return m
}

func TestStore(t *testing.T) {
	for name, method := range map[string]uint16{"stored": zip.Stored, "deflated": zip.Deflated} {
		t.Run(name, func(t *testing.T) {
			storagetest.Store(t, func(t *testing.T, objects map[string][]byte) storage.Store {
				return open(t, memory(pack(t, objects, method)), zip.Options{})
			})
		})
		t.Run(name+" over HTTP", func(t *testing.T) {
			storagetest.Store(t, func(t *testing.T, objects map[string][]byte) storage.Store {
				server := storagetest.NewOrigin(map[string][]byte{"a.zip": pack(t, objects, method)})
				return open(t, storage.NewHTTP(server, storagetest.OriginURL, storage.HTTPOptions{}), zip.Options{})
			})
		})
	}
}

// TestRequests: opening is one read, a stored member one for each range, a
// deflated one a single one for all of them.
func TestRequests(t *testing.T) {
	data := map[string][]byte{"x/zarr.json": storagetest.Pattern(300, 1), "x/c/0": storagetest.Pattern(200_000, 2)}
	for name, method := range map[string]uint16{"stored": zip.Stored, "deflated": zip.Deflated} {
		t.Run(name, func(t *testing.T) {
			rec := storagetest.Record(memory(pack(t, data, method)))
			s := open(t, rec, zip.Options{})
			require.Equal(t, 1, rec.Requests())
			for i := range 5 {
				off := int64(i * 1000)
				bs, info, err := s.ReadRanges(t.Context(), "x/c/0", []storage.Range{{Off: off, Len: 50}, storage.Suffix(20)}, "")
				require.NoError(t, err)
				require.Equal(t, data["x/c/0"][off:off+50], bs[0])
				require.Equal(t, data["x/c/0"][200_000-20:], bs[1])
				require.EqualValues(t, 200_000, info.Size)
			}
			if method == zip.Deflated {
				require.Equal(t, 2, rec.Requests())
				return
			}
			require.Equal(t, 6, rec.Requests())
			require.Len(t, rec.Calls()[1].Ranges, 3, "two, and the local header")
			require.Len(t, rec.Calls()[2].Ranges, 2)
			require.Less(t, rec.Bytes(), int64(70_000))
		})
	}
}

// TestLocalExtra: the local header has extra fields that the directory lacks.
func TestLocalExtra(t *testing.T) {
	b := member("k", []byte("0123456789"), zip.Stored, make([]byte, 300))
	s := open(t, memory(whole(b)), zip.Options{})
	for range 2 {
		bs, _, err := s.ReadRanges(t.Context(), "k", []storage.Range{{Off: 2, Len: 3}, storage.Suffix(2)}, "")
		require.NoError(t, err)
		require.Equal(t, "23489", string(bs[0])+string(bs[1]))
	}
	deflated := pack(t, map[string][]byte{"k": bytes.Repeat([]byte("x"), 5000)}, zip.Deflated)
	s = open(t, memory(deflated), zip.Options{Keep: -1})
	bs, _, err := s.ReadRanges(t.Context(), "k", []storage.Range{{Off: 4998, Len: 10}}, "")
	require.NoError(t, err)
	require.Equal(t, "xx", string(bs[0]))
}

// TestReplaced: a new archive under the same key is noticed by its version.
func TestReplaced(t *testing.T) {
	old, fresh := storagetest.Pattern(1000, 1), storagetest.Pattern(900, 2)
	m := memory(pack(t, map[string][]byte{"k": old}, zip.Stored))
	s := open(t, m, zip.Options{})
	_, info, err := s.ReadRanges(t.Context(), "k", []storage.Range{storage.All}, "")
	require.NoError(t, err)
	m.Set("a.zip", pack(t, map[string][]byte{"k": fresh, "new": old}, zip.Stored))
	_, _, err = s.ReadRanges(t.Context(), "k", []storage.Range{{Off: 0, Len: 5}}, info.Version)
	require.ErrorIs(t, err, fault.ErrStale)
	bs, now, err := s.ReadRanges(t.Context(), "k", []storage.Range{storage.All}, "")
	require.NoError(t, err)
	require.Equal(t, fresh, bs[0])
	require.NotEqual(t, info.Version, now.Version)
	m.Set("a.zip", pack(t, map[string][]byte{"newer": old}, zip.Stored))
	bs, _, err = s.ReadRanges(t.Context(), "newer", []storage.Range{storage.All}, "")
	require.NoError(t, err, "memory can tell cheaply")
	require.Equal(t, old, bs[0])
	m.Remove("a.zip")
	for _, key := range []string{"newer", "k"} {
		_, _, err = s.ReadRanges(t.Context(), key, []storage.Range{storage.All}, "")
		require.ErrorIs(t, err, fault.ErrStale)
		require.NotErrorIs(t, err, fault.ErrNotFound, "which would be fill values")
	}
	_, err = zip.Open(t.Context(), m, "a.zip", zip.Options{})
	require.ErrorIs(t, err, fault.ErrNotFound)
}

// entry is a member as a test writes it, local header and directory apart.
type entry struct{ local, central []byte }

func member(name string, data []byte, method uint16, extra []byte) entry {
	common := func(extra int) []byte {
		b := binary.LittleEndian.AppendUint16(nil, 20)
		for _, v := range []uint16{1 << 11, method, 0, 33} {
			b = binary.LittleEndian.AppendUint16(b, v)
		}
		for _, v := range []uint32{crc32.ChecksumIEEE(data), uint32(len(data)), uint32(len(data))} {
			b = binary.LittleEndian.AppendUint32(b, v)
		}
		b = binary.LittleEndian.AppendUint16(b, uint16(len(name)))
		return binary.LittleEndian.AppendUint16(b, uint16(extra))
	}
	var e entry
	e.local = append([]byte(zip.LocalMark), common(len(extra))...)
	e.local = append(append(append(e.local, name...), extra...), data...)
	e.central = append([]byte(zip.CentralMark), 20, 3)
	e.central = append(append(e.central, common(0)...), make([]byte, 14)...)
	e.central = append(e.central, name...)
	return e
}

func whole(entries ...entry) []byte {
	var b, directory []byte
	for _, e := range entries {
		binary.LittleEndian.PutUint32(e.central[42:], uint32(len(b)))
		b = append(b, e.local...)
		directory = append(directory, e.central...)
	}
	return ended(b, directory, len(entries))
}

func ended(b, directory []byte, count int) []byte {
	at := len(b)
	b = append(append(b, directory...), zip.EndMark...)
	b = append(b, 0, 0, 0, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(count))
	b = binary.LittleEndian.AppendUint16(b, uint16(count))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(directory)))
	b = binary.LittleEndian.AppendUint32(b, uint32(at))
	return append(b, 0, 0)
}

// Who replaces a member by appending leaves the old one: the last one counts. A
// container, which is never written so, refuses it.
func TestTwice(t *testing.T) {
	b := whole(member("k", []byte("old"), zip.Stored, nil), member("a", nil, zip.Stored, nil), member("k", []byte("newer"), zip.Stored, nil))
	s := open(t, memory(b), zip.Options{})
	bs, info, err := s.ReadRanges(t.Context(), "k", []storage.Range{storage.All}, "")
	require.NoError(t, err)
	require.Equal(t, "newer", string(bs[0]))
	require.EqualValues(t, 5, info.Size)
	names, err := s.List(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, []string{"a", "k"}, names)
	_, err = zip.ParseDirectory(bytes.NewReader(b), int64(len(b)), 1000)
	require.ErrorIs(t, err, fault.ErrCorrupt)
}

func TestHostile(t *testing.T) {
	x := []byte("0123456789")
	change := func(e entry, f func(e *entry)) entry { f(&e); return e }
	put32 := func(at int, v uint32) func(*entry) {
		return func(e *entry) { binary.LittleEndian.PutUint32(e.central[at:], v) }
	}
	fine := func() entry { return member("fine", x, zip.Stored, nil) }
	for name, tc := range map[string]struct {
		b    []byte
		want error
	}{
		"out":               {whole(member("../x", x, zip.Stored, nil)), fault.ErrCorrupt},
		"absolute":          {whole(member("/etc/passwd", x, zip.Stored, nil)), fault.ErrCorrupt},
		"backslash":         {whole(member(`a\b`, x, zip.Stored, nil)), fault.ErrCorrupt},
		"in the middle":     {whole(member("a/../b", x, zip.Stored, nil)), fault.ErrCorrupt},
		"no name":           {whole(member("", x, zip.Stored, nil)), fault.ErrCorrupt},
		"twice, one place":  {ended(fine().local, append(fine().central, fine().central...), 2), fault.ErrCorrupt},
		"encrypted":         {whole(change(fine(), func(e *entry) { e.central[8] |= 1 })), fault.ErrUnsupported},
		"two sizes":         {whole(change(fine(), put32(24, 11))), fault.ErrCorrupt},
		"too large":         {whole(change(change(fine(), put32(20, 1<<30)), put32(24, 1<<30))), fault.ErrCorrupt},
		"negative":          {whole(change(fine(), put32(20, math.MaxUint32))), fault.ErrCorrupt},
		"no mark":           {whole(change(fine(), put32(0, 0))), fault.ErrCorrupt},
		"empty file":        {nil, fault.ErrCorrupt},
		"not a zip":         {storagetest.Pattern(5000, 1), fault.ErrCorrupt},
		"cut":               {whole(fine())[:60], fault.ErrCorrupt},
		"more than it says": {ended(fine().local, fine().central, 9), fault.ErrCorrupt},
		"directory outside": {ended(nil, nil, 5), fault.ErrCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := zip.Open(t.Context(), memory(tc.b), "a.zip", zip.Options{})
			require.ErrorIs(t, err, tc.want)
		})
	}
	t.Run("overlap", func(t *testing.T) {
		a, b := member("a", x, zip.Stored, nil), member("b", x, zip.Stored, nil)
		both := append(slices.Clone(a.local), b.local...)
		n := uint32(len(both) - zip.LocalLen - 1)
		put32(20, n)(&a)
		put32(24, n)(&a)
		binary.LittleEndian.PutUint32(b.central[42:], uint32(len(a.local)))
		_, err := zip.Open(t.Context(), memory(ended(both, append(a.central, b.central...), 2)), "a.zip", zip.Options{})
		require.ErrorIs(t, err, fault.ErrCorrupt)
	})
	t.Run("local header", func(t *testing.T) {
		for name, f := range map[string]func(*entry){
			"another name":   func(e *entry) { e.local[zip.LocalLen] = 'F' },
			"another method": func(e *entry) { e.local[8] = 8 },
			"no mark":        func(e *entry) { e.local[0] = 0 },
			"long extra":     func(e *entry) { e.local[29] = 255 },
		} {
			s := open(t, memory(whole(change(fine(), f))), zip.Options{})
			_, _, err := s.ReadRanges(t.Context(), "fine", []storage.Range{storage.All}, "")
			require.ErrorIs(t, err, fault.ErrCorrupt, name)
		}
	})
	t.Run("limits", func(t *testing.T) {
		_, err := zip.Open(t.Context(), memory(whole(fine())), "a.zip", zip.Options{Directory: 40})
		require.ErrorIs(t, err, fault.ErrLimit)
		bomb := pack(t, map[string][]byte{"k": make([]byte, 1<<20)}, zip.Deflated)
		s := open(t, memory(bomb), zip.Options{Member: 1 << 19})
		_, _, err = s.ReadRanges(t.Context(), "k", []storage.Range{{Off: 0, Len: 1}}, "")
		require.ErrorIs(t, err, fault.ErrLimit)
		lying := member("k", []byte{3, 0}, zip.Deflated, nil)
		put32(24, 1<<29)(&lying)
		s = open(t, memory(whole(lying)), zip.Options{})
		_, _, err = s.ReadRanges(t.Context(), "k", []storage.Range{{Off: 0, Len: 1}}, "")
		require.ErrorIs(t, err, fault.ErrCorrupt, "refused before the memory is taken")
	})
	t.Run("damaged stream", func(t *testing.T) {
		b := pack(t, map[string][]byte{"k": storagetest.Pattern(1000, 1)}, zip.Deflated)
		b[bytes.Index(b, []byte("k"))+200] ^= 1
		s := open(t, memory(b), zip.Options{})
		_, _, err := s.ReadRanges(t.Context(), "k", []storage.Range{{Off: 0, Len: 1}}, "")
		require.ErrorIs(t, err, fault.ErrCorrupt)
	})
	t.Run("other method", func(t *testing.T) {
		s := open(t, memory(whole(member("k", x, 12, nil))), zip.Options{})
		_, _, err := s.ReadRanges(t.Context(), "k", []storage.Range{storage.All}, "")
		require.ErrorIs(t, err, fault.ErrUnsupported)
		require.ErrorContains(t, err, "method 12")
	})
}

// TestZip64 reads an archive of 5 GiB, most of which is one virtual member:
// what begins behind it lies past 32 bits.
func TestZip64(t *testing.T) {
	const gap = int64(5 << 30)
	wide := func(values ...int64) []byte {
		b := binary.LittleEndian.AppendUint16(nil, 1)
		b = binary.LittleEndian.AppendUint16(b, uint16(8*len(values)))
		for _, v := range values {
			b = binary.LittleEndian.AppendUint64(b, uint64(v))
		}
		return b
	}
	first := member("big", nil, zip.Stored, wide(gap, gap))
	binary.LittleEndian.PutUint32(first.central[20:], math.MaxUint32)
	binary.LittleEndian.PutUint32(first.central[24:], math.MaxUint32)
	extra := wide(gap, gap)
	binary.LittleEndian.PutUint16(first.central[30:], uint16(len(extra)))
	first.central = append(first.central, extra...)
	second := member("after", []byte("0123456789"), zip.Stored, nil)
	at := int64(len(first.local)) + gap
	binary.LittleEndian.PutUint32(second.central[42:], math.MaxUint32)
	extra = wide(at)
	binary.LittleEndian.PutUint16(second.central[30:], uint16(len(extra)))
	second.central = append(second.central, extra...)

	directory := append(slices.Clone(first.central), second.central...)
	tail := append(slices.Clone(second.local), directory...)
	where := at + int64(len(tail))
	tail = append(tail, zip.End64Mark...)
	tail = binary.LittleEndian.AppendUint64(tail, zip.End64Len-12)
	tail = append(tail, make([]byte, 12)...)
	for _, v := range []int64{2, 2, int64(len(directory)), at + int64(len(second.local))} {
		tail = binary.LittleEndian.AppendUint64(tail, uint64(v))
	}
	tail = append(append(tail, zip.Locator64Mark...), 0, 0, 0, 0)
	tail = binary.LittleEndian.AppendUint64(tail, uint64(where))
	tail = append(tail, 1, 0, 0, 0)
	tail = append(append(tail, zip.EndMark...), bytes.Repeat([]byte{255}, 16)...)
	copy(tail[len(tail)-16:], make([]byte, 4))
	tail = append(tail, 0, 0)

	s := open(t, sparse{head: first.local, tail: tail, at: at}, zip.Options{})
	bs, info, err := s.ReadRanges(t.Context(), "after", []storage.Range{{Off: 3, Len: 4}}, "")
	require.NoError(t, err)
	require.Equal(t, "3456", string(bs[0]))
	require.EqualValues(t, 10, info.Size)
	bs, info, err = s.ReadRanges(t.Context(), "big", []storage.Range{{Off: 1<<32 + 5, Len: 3}}, "")
	require.NoError(t, err)
	require.Equal(t, []byte{0, 0, 0}, bs[0])
	require.EqualValues(t, gap, info.Size)
}

// sparse is an object of which only the ends are not zeros.
type sparse struct {
	head, tail []byte
	at         int64 // where tail begins
}

func (s sparse) ReadRanges(_ context.Context, _ string, rs []storage.Range, _ storage.Version) ([][]byte, storage.ObjectInfo, error) {
	size := s.at + int64(len(s.tail))
	out := make([][]byte, len(rs))
	for i, r := range rs {
		off, n := r.Resolve(size)
		out[i] = make([]byte, n)
		for k := range out[i] {
			switch o := off + int64(k); {
			case o < int64(len(s.head)):
				out[i][k] = s.head[o]
			case o >= s.at:
				out[i][k] = s.tail[o-s.at]
			}
		}
	}
	return out, storage.ObjectInfo{Size: size, Version: "1"}, nil
}

// FuzzDirectory: whatever the bytes, no panic, and no member outside them.
func FuzzDirectory(f *testing.F) {
	stores, err := filepath.Glob("../../testdata/blosc2/*/*.b2z")
	require.NoError(f, err)
	require.NotEmpty(f, stores)
	for _, name := range stores {
		b, err := os.ReadFile(name)
		require.NoError(f, err)
		f.Add(b)
	}
	f.Add(whole(member("k", []byte("x"), zip.Deflated, nil)))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		proven, end, err := zip.Recover(t.Context(), r, int64(len(b)))
		if err != nil {
			refused(t, err)
		}
		require.LessOrEqual(t, end, int64(len(b)))
		for _, m := range proven {
			off, err := m.Data(r, end)
			require.NoError(t, err)
			require.NoError(t, m.Check(t.Context(), r, off))
		}
		members, err := zip.ParseDirectory(r, int64(len(b)), 1<<20)
		if err != nil {
			refused(t, err)
			return
		}
		for _, m := range members {
			off, err := m.Data(r, int64(len(b)))
			if err != nil {
				refused(t, err)
				continue
			}
			require.LessOrEqual(t, off+m.Packed, int64(len(b)))
		}
		s, err := zip.Open(t.Context(), memory(b), "a.zip", zip.Options{Member: 1 << 20})
		require.NoError(t, err)
		for _, m := range members {
			bs, _, err := s.ReadRanges(t.Context(), m.Name, []storage.Range{{Off: 0, Len: 10}, storage.Suffix(10)}, "")
			if err != nil {
				refused(t, err)
				continue
			}
			require.LessOrEqual(t, len(bs[0]), 10)
		}
	})
}

func refused(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, fault.ErrCorrupt) && !errors.Is(err, fault.ErrUnsupported) && !errors.Is(err, fault.ErrLimit) {
		t.Fatalf("%v is no refusal", err)
	}
	require.False(t, strings.Contains(err.Error(), "\n"))
}
