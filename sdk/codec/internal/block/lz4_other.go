//go:build !amd64

package block

// lz4Sprint is lz4Run: there is no kernel. See lz4_amd64.go.
func lz4Sprint(dst, src []byte, at, p int) (int, int) { return lz4Run(dst, src, at, p) }
