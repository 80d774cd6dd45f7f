package shuffle

import "testing"

// TestWithoutWideKernels takes those of AVX2 through the tests of this package,
// where others would come first.
func TestWithoutWideKernels(t *testing.T) {
	if !quick || !wide {
		t.Skip("no AVX-512: the other tests do")
	}
	wide = false
	defer func() { wide = true }()
	t.Run("Bits", TestBits)
	t.Run("Kernels", func(t *testing.T) { compareKernels(t, bitKernels) })
}
