package wire

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// The sizes and offsets are those of docs/abi.md.
func TestLayouts(t *testing.T) {
	sizes := map[any]uintptr{
		Mailbox{}: 60, Completion{}: 8, Result{}: 48, Read{}: 32, Range{}: 32, List{}: 20, Fetch{}: 52, Info{}: 184, Path{}: 32, Copy{}: 32, Stat{}: 64, Lock{}: 24,
	}
	for v, want := range sizes {
		require.Equal(t, want, reflect.TypeOf(v).Size(), "%T", v)
	}
	offset := func(v any, field string) uintptr {
		f, ok := reflect.TypeOf(v).FieldByName(field)
		require.True(t, ok, field)
		return f.Offset
	}
	require.EqualValues(t, 28, offset(Mailbox{}, "CQPtr"))
	require.EqualValues(t, 44, offset(Mailbox{}, "ReqPtr"))
	require.EqualValues(t, 52, offset(Mailbox{}, "Status"))
	require.EqualValues(t, 20, offset(Result{}, "DetailPtr"))
	require.EqualValues(t, 28, offset(Result{}, "Object"))
	require.EqualValues(t, 32, offset(Result{}, "Off"))
	require.EqualValues(t, 16, offset(Range{}, "Buf"))
	require.EqualValues(t, 40, offset(Fetch{}, "Status"))
	require.EqualValues(t, 48, offset(Info{}, "Ver"))
	require.EqualValues(t, 176, offset(Info{}, "ID"))
	require.EqualValues(t, 56, offset(Stat{}, "Kind"))
	require.EqualValues(t, 24, offset(Copy{}, "File"))
}

func TestReader(t *testing.T) {
	b := []byte{1, 0, 0, 0, 2, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255, 7, 0, 0, 0, 0, 0, 0, 0, 9}
	r := NewReader(b)
	require.EqualValues(t, 1, r.U32())
	require.Equal(t, []int64{-1, 7}, r.Dims(nil, r.U32()))
	require.False(t, r.Done(), "a byte is left")
	require.Equal(t, []byte{9}, r.Rest())
	require.True(t, r.Done())

	for n := range b[:24] {
		r := NewReader(b[:n])
		r.U32()
		r.Dims(nil, r.U32())
		r.I64()
		require.False(t, r.Done(), "cut at %d", n)
		require.Zero(t, r.I64(), "a bad reader reads zeros")
	}
	r = NewReader(make([]byte, 4096))
	require.Empty(t, r.Dims(nil, MaxDims+1))
	require.False(t, r.Done())
	r = NewReader(nil)
	require.Empty(t, r.Dims(nil, 1<<31), "a count whose bytes overflow 32 bits")
	require.False(t, r.Done())
}
