package engine

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/wasm/wire"
)

// What is made in the instance's memory goes when the handle that made it is
// closed, of whatever kind, and not when another one is made in its place.
func TestContainersInMemoryEnd(t *testing.T) {
	f := newFake(t)
	e := New(f)
	create := func(kind, more string) uint32 {
		t.Helper()
		text := fmt.Sprintf(`{"fs":0,"name":"c","kind":%q,"typesize":1,"chunksize":100%s}`, kind, more)
		r, _, err := f.call(e, wire.KindContainerCreate, append(u32s(uint32(len(text))), text...))
		require.NoError(t, err)
		return r.Object
	}
	closed := func(handle uint32) {
		t.Helper()
		_, _, err := f.call(e, wire.KindClose, u32s(handle))
		require.NoError(t, err)
	}
	left := func() []string {
		t.Helper()
		names, err := e.files.List(t.Context(), "")
		require.NoError(t, err)
		return names
	}
	for kind, more := range map[string]string{
		"schunk": "", "ndarray": `,"sparse":true,"shape":[10],"dtype":"|u1"`, "embedstore": "", "dictstore": "", "treestore": "",
	} {
		for range 3 {
			h := create(kind, more)
			require.NotEmpty(t, left(), kind)
			if kind == "ndarray" {
				r, _, err := f.call(e, wire.KindContainerDo, fmt.Appendf(nil, `{"container":%d,"do":"copy","fs":0,"name":"d"}`, h))
				require.NoError(t, err)
				require.Len(t, left(), 2)
				closed(r.Object)
			}
			closed(h)
			require.Empty(t, left(), kind)
		}
	}
	first := create("schunk", "")
	second := create("schunk", `,"replace":true`)
	closed(first)
	require.Contains(t, left(), "c")
	closed(second)
	require.NotContains(t, left(), "c")
	_, _, err := f.call(e, wire.KindContainerOpen, []byte(`{"fs":0,"name":"c"}`))
	require.ErrorIs(t, err, fault.ErrNotFound)
}
