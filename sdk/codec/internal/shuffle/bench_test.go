package shuffle

import (
	"strconv"
	"testing"
)

func BenchmarkShuffle(b *testing.B) {
	src, dst, tmp := make([]byte, 256<<10), make([]byte, 256<<10), make([]byte, 256<<10)
	for _, size := range []int{2, 4, 8, 16} {
		for _, c := range []struct {
			name string
			do   func()
		}{
			{"bytes", func() { Bytes(dst, src, size) }},
			{"undo bytes", func() { UndoBytes(dst, src, size) }},
			{"bits", func() { Bits(dst, src, size, tmp) }},
			{"undo bits", func() { UndoBits(dst, src, size, tmp) }},
			{"copy", func() { copy(dst, src) }},
		} {
			b.Run(c.name+" "+strconv.Itoa(size), func(b *testing.B) {
				b.SetBytes(int64(len(src)))
				for b.Loop() {
					c.do()
				}
			})
		}
	}
}
