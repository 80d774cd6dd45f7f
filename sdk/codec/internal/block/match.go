package block

import "github.com/gridhold/gridhold/sdk/codec/internal/lz"

// Wide is how many bytes Copy16 copies.
const Wide = lz.Wide

// Copy16 is [lz.Copy16].
func Copy16(dst, src []byte) { lz.Copy16(dst, src) }

// Repeat is [lz.Repeat].
func Repeat(dst []byte, at, distance, n int) { lz.Repeat(dst, at, distance, n) }

// Same is [lz.Same].
func Same(a, b []byte) int { return lz.Same(a, b) }
