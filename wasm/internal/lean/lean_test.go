package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/wasm"
)

// TestTwice takes lines out of the guest, which has none left: nothing
// changes, and the module is put together as it was.
func TestTwice(t *testing.T) {
	m, err := parse(wasm.Module)
	require.NoError(t, err)
	image := m.image()
	before := bytes.Clone(image)
	require.NoError(t, strip(image))
	require.True(t, bytes.Equal(before, image), "the guest was built without wasm/build.sh")
	out := m.write(image)
	require.True(t, bytes.Equal(wasm.Module, out))
}

// TestManySegments: an engine takes so many and no more.
func TestManySegments(t *testing.T) {
	image := make([]byte, 16*(mostSegments+5))
	for at := 0; at < len(image); at += 16 {
		image[at], image[at+5] = 1, 2 // apart by 4 zeros and by 10
	}
	for at := 16; at < 16*20; at += 16 {
		image[at-1] = 3 // apart by 9
	}
	whole, err := parse((&module{before: []byte("\x00asm\x01\x00\x00\x00")}).write(image))
	require.NoError(t, err)
	require.LessOrEqual(t, len(whole.data), mostSegments)
	require.Equal(t, bytes.TrimRight(image, "\x00"), whole.image())
	_, count := cut(image, leastZeros)
	require.Greater(t, count, mostSegments)
}

func TestRefuses(t *testing.T) {
	for _, n := range []int{0, 4, 8, 9, 1000, len(wasm.Module) / 2, len(wasm.Module) - 1} {
		_, err := parse(wasm.Module[:n])
		require.Error(t, err, "cut at %d", n)
	}
	m, err := parse(wasm.Module)
	require.NoError(t, err)
	image := m.image()
	h, err := find(image)
	require.NoError(t, err)
	for name, spoil := range map[string]func(b []byte){
		"no table":       func(b []byte) { b[h.at] = 0 },
		"two tables":     func(b []byte) { copy(b[h.at+h.entries+4096:], b[h.at:h.at+headerSize]) },
		"a far function": func(b []byte) { le.PutUint32(b[h.at+h.entries+4:], 1<<30) },
		"a far stream":   func(b []byte) { le.PutUint32(b[h.at+h.entries+int(le.Uint32(b[h.at+h.entries+4:]))+funcPCSP:], 1<<30) },
	} {
		b := bytes.Clone(image)
		spoil(b)
		require.Error(t, strip(b), name)
	}
}

func TestStreamLen(t *testing.T) {
	n, err := streamLen([]byte{9, 0, 3, 2, 1, 0}, 1) // the first value may be 0
	require.NoError(t, err)
	require.Equal(t, 5, n)
	_, err = streamLen([]byte{1, 1, 1}, 0)
	require.Error(t, err)
	_, err = streamLen(nil, 0)
	require.Error(t, err)
}

func TestAppendInt(t *testing.T) {
	for _, v := range []int{0, 1, 63, 64, 127, 128, 8191, 8192, 1 << 20, 1<<31 - 1} {
		r := &reader{b: appendInt(nil, v)}
		require.Equal(t, v, r.int())
		require.Empty(t, r.b)
	}
}
