package engine

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/wasm/wire"
)

// A chunk that is not stored takes no memory, however large it is: slices of it
// are read, the whole of it is refused. One that is stored takes what it has.
func TestSliceOfHugeChunks(t *testing.T) {
	f := newFake(t)
	e := New(f)
	e.memory = 64 << 20
	e.gate.limit = e.memory * 6 / 10
	text := `{"fs":0,"name":"c","kind":"ndarray","shape":[32768,32768],"chunks":[16384,16384],"blocks":[256,1024],"dtype":"<f4"}`
	made, _, err := f.call(e, wire.KindContainerCreate, append(u32s(uint32(len(text))), text...))
	require.NoError(t, err)
	numbers := func(what uint32, n ...int64) []byte {
		b := u32s(made.Object, what, uint32(len(n)))
		for _, n := range n {
			b = binary.LittleEndian.AppendUint64(b, uint64(n))
		}
		return b
	}
	_, b, err := f.call(e, wire.KindContainerRead, numbers(wire.ReadSlice, 16380, 16390, 1, 16380, 16390, 1))
	require.NoError(t, err)
	require.Equal(t, make([]byte, 400), b)
	_, _, err = f.call(e, wire.KindContainerRead, numbers(wire.ReadChunk, 0))
	require.ErrorIs(t, err, fault.ErrLimit)
}
