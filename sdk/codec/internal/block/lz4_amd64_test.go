package block

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// slowly calls do without the kernel.
func slowly(do func()) {
	defer func(quick bool) { lz4Quick = quick }(lz4Quick)
	lz4Quick = false
	do()
}

// TestLZ4WithoutKernel takes the loop in Go through the tests of LZ4.
func TestLZ4WithoutKernel(t *testing.T) {
	if !lz4Quick {
		t.Skip("no kernel: the other tests do")
	}
	slowly(func() {
		t.Run("RoundTrip", TestLZ4RoundTrip)
		t.Run("Refuses", TestLZ4Refuses)
		t.Run("Sequences", TestLZ4Sequences)
	})
}

// requireAlike decodes src into size bytes, and the first need of them, with
// the kernel and without it: the results are the same.
func requireAlike(t *testing.T, got, want, src []byte, need int) {
	t.Helper()
	n, err := FillLZ4(got, src)
	prefix := bytes.Clone(got[:need])
	prefixErr := PrefixLZ4(prefix, src)
	slowly(func() {
		wantN, wantErr := FillLZ4(want, src)
		require.Equal(t, wantErr, err)
		require.Equal(t, wantN, n)
		require.True(t, bytes.Equal(want[:n], got[:n]))
		wantErr = PrefixLZ4(want[:need], src)
		require.Equal(t, wantErr, prefixErr)
		require.True(t, err != nil || prefixErr != nil || bytes.Equal(want[:need], prefix))
	})
}

func TestLZ4Kernel(t *testing.T) {
	if !lz4Quick {
		t.Skip("no AVX-512 that permutes bytes")
	}
	r := rand.New(rand.NewPCG(5, 6))
	for range 3000 {
		packed, plain := mixedBlock(r, 1+r.IntN(3000))
		got, intact := fenced(r.IntN(64), len(plain))
		n, err := FillLZ4(got, packed)
		require.NoError(t, err)
		require.Equal(t, len(plain), n)
		require.True(t, bytes.Equal(plain, got))
		require.True(t, intact(), "wrote outside")
		need := r.IntN(len(plain) + 1)
		begin, intact := fenced(r.IntN(64), need)
		require.NoError(t, PrefixLZ4(begin, packed))
		require.True(t, bytes.Equal(plain[:need], begin))
		require.True(t, intact(), "wrote outside")
		for range 5 {
			size := len(plain) - 40 + r.IntN(80)
			size = max(size, 0)
			got, intact := fenced(r.IntN(64), size)
			requireAlike(t, got, make([]byte, size), spoilt(r, packed), r.IntN(size+1))
			require.True(t, intact(), "wrote outside")
		}
	}
}

// fenced returns n bytes, at from the start of their memory, that others follow
// and precede; intact reports whether those are as they were.
func fenced(at, n int) (b []byte, intact func() bool) {
	const width = 128
	whole := bytes.Repeat([]byte{0xa5}, width+at+n+width)
	before, after := whole[:width+at], whole[width+at+n:]
	return whole[width+at:][:n:n], func() bool {
		return bytes.Count(before, []byte{0xa5}) == len(before) && bytes.Count(after, []byte{0xa5}) == len(after)
	}
}

// A call of the kernel ends after lz4Once bytes, wherever that is.
func TestLZ4KernelOfMuch(t *testing.T) {
	packed, plain := mixedBlock(rand.New(rand.NewPCG(7, 8)), 5*lz4Once)
	got := make([]byte, len(plain))
	n, err := FillLZ4(got, packed)
	require.NoError(t, err)
	require.True(t, n == len(plain) && bytes.Equal(plain, got))
	run := AppendLZ4(nil, make([]byte, 5*lz4Once))
	clear(plain)
	n, err = FillLZ4(got[:5*lz4Once], run)
	require.NoError(t, err)
	require.True(t, n == 5*lz4Once && bytes.Equal(plain[:n], got[:n]))
}

func FuzzLZ4Kernel(f *testing.F) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 50 {
		packed, plain := mixedBlock(r, 1+r.IntN(600))
		f.Add(packed, len(plain), r.IntN(len(plain)))
		f.Add(spoilt(r, packed), len(plain), r.IntN(len(plain)))
	}
	f.Fuzz(func(t *testing.T, src []byte, size, need int) {
		if size < 0 || size > 1<<16 || need < 0 || need > size {
			return
		}
		got, intact := fenced(need%64, size)
		requireAlike(t, got, make([]byte, size), src, need)
		require.True(t, intact(), "wrote outside")
	})
}
