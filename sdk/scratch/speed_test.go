//go:build unix

package scratch

import (
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkEpoch reads every image of 8 stacks of 500 images of 64 KiB once,
// in random order, with two workers: from the sources, with a scratch that
// fills, and with one that is full.
func BenchmarkEpoch(b *testing.B) {
	d := newDesk(b, 128, 128)
	const files, per = 8, 500
	keys := make([]string, files)
	for i := range keys {
		keys[i] = string(rune('a' + i))
		d.write(keys[i], 0, per)
	}
	g := group(b, images("a"), images("b"), images("c"), images("d"), images("e"), images("f"), images("g"), images("h"))
	epoch := func(s *ImageScratch) {
		order := rand.Perm(files * per)
		var group sync.WaitGroup
		for w := range 2 {
			group.Add(1)
			go func() {
				defer group.Done()
				dst := make([]byte, 128*128*4)
				for i := w; i < len(order); i += 2 {
					n := order[i]
					if err := s.ReadImages(ctx, keys[n/per], dst, int64(n%per)); err != nil {
						panic(err)
					}
				}
			}()
		}
		group.Wait()
	}
	cpu := func() int64 {
		var u syscall.Rusage
		syscall.Getrusage(syscall.RUSAGE_SELF, &u)
		return u.Utime.Nano() + u.Stime.Nano()
	}
	kinds := append(kinds[:len(kinds):len(kinds)], kinds[0])
	kinds[4].name = "sources"
	for _, kind := range kinds {
		size := int64(Everything)
		if kind.name == "sources" {
			size = 1 << 20
		}
		b.Run(kind.name+"/first", func(b *testing.B) {
			b.SetBytes(files * per * 65536)
			spent := int64(0)
			for range b.N {
				b.StopTimer()
				d.fs.Remove(ctx, "scr")
				Collect(ctx, d.fs, "some/dir", 0, waiting)
				s, err := kind.create(d, g, 16, size)
				require.NoError(b, err)
				b.StartTimer()
				began := cpu()
				epoch(s)
				spent += cpu() - began
				b.StopTimer()
				require.NoError(b, s.Close())
				b.StartTimer()
			}
			b.ReportMetric(float64(files*per*65536)*float64(b.N)/float64(spent), "GB/cpu-s")
		})
		s, err := kind.create(d, g, 16, size)
		require.NoError(b, err)
		epoch(s)
		b.Run(kind.name+"/warm", func(b *testing.B) {
			b.SetBytes(files * per * 65536)
			began := cpu()
			for range b.N {
				epoch(s)
			}
			b.ReportMetric(float64(files*per*65536)*float64(b.N)/float64(cpu()-began), "GB/cpu-s")
		})
		require.NoError(b, s.Close())
	}
}
