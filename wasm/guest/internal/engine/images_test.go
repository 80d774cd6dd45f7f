package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/wasm/wire"
)

const imageCount = 6

// gallery is an engine with a stack of imageCount images of 2x2 bytes, each of
// them its number four times, in a file system and in a store.
func gallery(t *testing.T) (*fake, *Engine, storage.FS) {
	f := newFake(t)
	fs := storage.NewMemoryFS(1 << 20)
	file, err := fs.Open(t.Context(), "a.mrcs", storage.OpenRead|storage.OpenWrite|storage.OpenCreate)
	require.NoError(t, err)
	w, err := image.NewMRCWriter(file, image.MRCLayout{Type: image.Int8, Columns: 2, Rows: 2})
	require.NoError(t, err)
	for i := range byte(imageCount) {
		require.NoError(t, w.Write(t.Context(), []byte{i, i, i, i}))
	}
	require.NoError(t, w.Finish(t.Context()))
	info, err := file.Stat()
	require.NoError(t, err)
	all := make([]byte, info.Size)
	_, err = file.ReadAt(all, 0)
	require.NoError(t, err)
	m := storage.NewMemory()
	m.Set("a.mrcs", all)
	m.Set("t.star", []byte("data_\nloop_\n_rlnImageName\n3@a.mrcs\n1@a.mrcs\n"))
	f.files.systems[7], f.stores[1] = fs, m
	return f, New(f), fs
}

// chosen are the images of a request: gh_image.
func chosen(indices ...int64) (b []byte) {
	for _, i := range indices {
		b = le.AppendUint64(append(b, u32s(0, 0)...), uint64(i))
	}
	return b
}

func opening(spec string, indices ...int64) []byte {
	b := append(u32s(uint32(len(spec))), spec...)
	b = append(b, u32s(1, 6)...)
	return append(append(b, "a.mrcs"...), chosen(indices...)...)
}

func TestImages(t *testing.T) {
	for _, where := range []string{`"fs":7`, `"store":{"kind":"host","id":1}`} {
		for _, later := range []bool{false, true} {
			t.Run(fmt.Sprint(where, later), func(t *testing.T) {
				f, e, _ := gallery(t)
				f.later = later
				r, b, err := f.call(e, wire.KindImagesOpen, []byte(`{`+where+`,"key":"a.mrcs"}`))
				require.NoError(t, err)
				var d struct{ Images int }
				require.NoError(t, json.Unmarshal(b, &d))
				require.Equal(t, imageCount, d.Images)
				stack := r.Object

				get := func(flags uint32, first, count int64) (wire.Result, []byte, error) {
					return f.call(e, wire.KindImagesRead, le.AppendUint64(le.AppendUint64(u32s(stack, flags), uint64(first)), uint64(count)))
				}
				_, b, err = get(0, 2, 2)
				require.NoError(t, err)
				require.Equal(t, []byte{2, 2, 2, 2, 3, 3, 3, 3}, b)
				r, b, err = get(wire.FlagHere, 2, 2)
				require.NoError(t, err)
				if where == `"fs":7` {
					require.EqualValues(t, wire.Located, r.Kind)
					require.EqualValues(t, []int64{7, 1024 + 8, 8}, []int64{int64(r.Object), r.Off, r.Length})
					require.Equal(t, "a.mrcs", string(b[8:]))
				} else {
					require.EqualValues(t, wire.Bytes, r.Kind)
				}
				for _, bad := range [][2]int64{{6, 1}, {-1, 1}, {0, 7}, {1, 1 << 62}} {
					_, _, err = get(0, bad[0], bad[1])
					require.ErrorIs(t, err, fault.ErrOutOfRange)
				}
				_, _, err = get(0, 0, -1)
				require.ErrorIs(t, err, fault.ErrInvalid)
				_, _, err = f.call(e, wire.KindClose, u32s(stack))
				require.NoError(t, err)
				_, _, err = get(0, 0, 1)
				require.ErrorIs(t, err, fault.ErrClosed)
			})
		}
	}
}

func TestTableRead(t *testing.T) {
	f, e, _ := gallery(t)
	request := func(first, count int) []byte {
		return fmt.Appendf(nil, `{"store":{"kind":"host","id":1},"key":"t.star","first":%d,"count":%d}`, first, count)
	}
	for _, c := range []struct {
		first, count, rows int
		index              uint64
		end                bool
	}{{0, 1, 1, 2, false}, {1, 1, 1, 0, true}, {0, 2, 2, 2, true}, {2, 5, 0, 0, true}} {
		_, b, err := f.call(e, wire.KindTableRead, request(c.first, c.count))
		require.NoError(t, err)
		n := le.Uint32(b)
		require.EqualValues(t, c.rows, le.Uint32(b[4:]))
		var head struct{ End bool }
		require.NoError(t, json.Unmarshal(b[8:8+n], &head))
		require.Equal(t, c.end, head.End)
		rows := b[(8+n+7)&^7:]
		require.Len(t, rows, c.rows*wire.RowSize)
		if c.rows > 0 {
			require.Equal(t, c.index, le.Uint64(rows))
		}
	}
}

func TestScratch(t *testing.T) {
	for _, where := range []string{"memory", "file"} {
		for _, later := range []bool{false, true} {
			t.Run(fmt.Sprint(where, later), func(t *testing.T) {
				f, e, fs := gallery(t)
				f.later = later
				// Of files that were written this instant nothing is kept; objects have no such times.
				spec := fmt.Sprintf(`{"where":%q,"fs":7,"name":"scr","run_length":2,"files":{"store":{"kind":"host","id":1}}}`, where)
				r, _, err := f.call(e, wire.KindScratchOpen, opening(spec, 0, 1, 2, 3, 4, 5))
				require.NoError(t, err)
				h := r.Object
				_, b, err := f.call(e, wire.KindScratchRead, append(u32s(h, 0), chosen(5, 0, 1)...))
				require.NoError(t, err)
				require.Equal(t, []byte{5, 5, 5, 5, 0, 0, 0, 0, 1, 1, 1, 1}, b)
				_, b, err = f.call(e, wire.KindScratchLocate, append(u32s(h, 0), chosen(0, 3)...))
				require.NoError(t, err)
				require.Len(t, b, 2*wire.KeptSize)
				require.Equal(t, ^uint64(0), le.Uint64(b[wire.KeptSize:]), "its run is not there")
				if off := int64(le.Uint64(b)); where == "file" {
					file, err := fs.Open(context.Background(), "scr", storage.OpenRead)
					require.NoError(t, err)
					got := make([]byte, le.Uint64(b[8:]))
					_, err = file.ReadAt(got, off)
					require.NoError(t, err)
					require.Equal(t, []byte{0, 0, 0, 0}, got)
					require.NoError(t, file.Close())
				} else {
					require.EqualValues(t, -1, off)
				}
				_, b, err = f.call(e, wire.KindScratchDo, fmt.Appendf(nil, `{"scratch":%d,"do":"prefetch"}`, h))
				require.NoError(t, err)
				require.Contains(t, string(b), `"present":6`)
				_, _, err = f.call(e, wire.KindScratchRead, append(u32s(h, 0), chosen(6)...))
				require.ErrorIs(t, err, fault.ErrOutOfRange)
				_, _, err = f.call(e, wire.KindClose, u32s(h))
				require.NoError(t, err)
				require.Empty(t, f.files.open, "all files are closed")
			})
		}
	}
}

// Requests that are cut, or name what is not there, are refused.
func TestImageRequests(t *testing.T) {
	f, e, _ := gallery(t)
	whole := opening(`{"where":"memory","run_length":1,"files":{"fs":7}}`, 0)
	r, _, err := f.call(e, wire.KindScratchOpen, whole)
	require.NoError(t, err)
	for n := range whole {
		_, _, err := f.call(e, wire.KindScratchOpen, whole[:n])
		require.ErrorIs(t, err, fault.ErrInvalid, "cut at %d", n)
	}
	for name, c := range map[string]struct {
		kind uint32
		req  []byte
		want error
	}{
		"no JSON":           {wire.KindImagesOpen, []byte("x"), fault.ErrInvalid},
		"unknown sign":      {wire.KindImagesOpen, []byte(`{"fs":7,"key":"a.mrcs","bytes":"odd"}`), fault.ErrInvalid},
		"no such file":      {wire.KindImagesOpen, []byte(`{"fs":7,"key":"b.mrcs"}`), fault.ErrNotFound},
		"leads out":         {wire.KindImagesOpen, []byte(`{"fs":7,"key":"../../.."}`), fault.ErrInvalid},
		"no such table":     {wire.KindTableRead, []byte(`{"fs":7,"key":"t.star"}`), fault.ErrNotFound},
		"no such handle":    {wire.KindImagesRead, make([]byte, 24), fault.ErrClosed},
		"a scratch is none": {wire.KindImagesRead, append(u32s(r.Object, 0), make([]byte, 16)...), fault.ErrClosed},
		"key past the last": {wire.KindScratchRead, append(u32s(r.Object, 0, 1, 0), make([]byte, 8)...), fault.ErrInvalid},
		"half an image":     {wire.KindScratchLocate, u32s(r.Object, 0, 0), fault.ErrInvalid},
		"unknown deed":      {wire.KindScratchDo, []byte(`{"do":"dance"}`), fault.ErrInvalid},
		"deed on nothing":   {wire.KindScratchDo, []byte(`{"do":"stats","scratch":99}`), fault.ErrClosed},
		"keys of text":      {wire.KindScratchDo, fmt.Appendf(nil, `{"do":"prefetch","scratch":%d,"keys":["a"]}`, r.Object), fault.ErrInvalid},
		"number past keys":  {wire.KindScratchDo, fmt.Appendf(nil, `{"do":"prefetch","scratch":%d,"keys":[1]}`, r.Object), fault.ErrInvalid},
		"unknown place":     {wire.KindScratchOpen, opening(`{"where":"cloud","run_length":1,"files":{"fs":7}}`, 0), fault.ErrInvalid},
		"a negative index":  {wire.KindScratchOpen, opening(`{"where":"memory","run_length":1,"files":{"fs":7}}`, -2), fault.ErrInvalid},
		"past the last":     {wire.KindScratchOpen, opening(`{"where":"memory","run_length":1,"files":{"fs":7}}`, imageCount), fault.ErrOutOfRange},
	} {
		_, _, err := f.call(e, c.kind, c.req)
		require.ErrorIs(t, err, c.want, name)
	}
}
