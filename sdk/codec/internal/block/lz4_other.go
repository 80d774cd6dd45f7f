//go:build !amd64

package block

// lz4Sprint is lz4Run: there is no kernel. See lz4_amd64.go.
func lz4Sprint(dst, src []byte, at, p int) (int, int) { return lz4Run(dst, src, at, p) }

// pack is fast: there is no kernel. See lz4_encode_amd64.go.
func (t *lz4Table[T]) pack(dst, src []byte, start, stride int) int {
	return t.fast(dst, src, start, stride)
}
