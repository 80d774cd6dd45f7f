package image_test

import (
	"io"
	"iter"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/image"
)

// bigTable is a STAR file of many rows over many stacks, made as it is read.
type bigTable struct {
	rows, files, row int
	extra            string // columns behind the location
	rest             []byte
}

func (b *bigTable) Read(p []byte) (int, error) {
	for len(b.rest) < len(p) && b.row <= b.rows {
		if b.row == 0 {
			b.rest = append(b.rest, "data_particles\nloop_\n_rlnImageName\n_rlnDefocusU\n_rlnDefocusV\n"...)
			for i := range (len(b.extra) + 8) / 9 {
				b.rest = append(strconv.AppendInt(append(b.rest, "_rlnX"...), int64(i), 10), '\n')
			}
		} else {
			n := (b.row * 7919) % b.rows // shuffled, each once
			b.rest = strconv.AppendInt(b.rest, int64(n/b.files+1), 10)
			b.rest = append(b.rest, "@Extract/job012/stack_"...)
			b.rest = strconv.AppendInt(b.rest, int64(n%b.files), 10)
			b.rest = append(append(append(b.rest, ".mrcs 10000.0 10000.0 "...), b.extra...), '\n')
		}
		b.row++
	}
	if len(b.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, b.rest)
	b.rest = b.rest[:copy(b.rest, b.rest[n:])]
	return n, nil
}

// groupTable reads a table and groups what it names.
func groupTable(r io.Reader) (g *image.ImageLocationGrouping, err error) {
	seq := iter.Seq[image.ImageLocation](func(yield func(image.ImageLocation) bool) {
		_, err = image.ReadTable(ctx, r, "big.star", image.TableOptions{}, func(r image.TableRow) error {
			yield(r.ImageLocation)
			return nil
		})
	})
	g, groupErr := image.GroupLocations(seq)
	if err == nil {
		err = groupErr
	}
	return g, err
}

// Memory goes with the files that a table names and with 8 bytes a location,
// not with the table.
func TestBigTable(t *testing.T) {
	const rows, files = 300_000, 1000
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	g, err := groupTable(&bigTable{rows: rows, files: files, extra: "12345.78 12345.78 12345.78 12345.78 12345.78 "})
	require.NoError(t, err)
	require.Equal(t, files, g.Len())
	require.Equal(t, int64(rows), g.Count())
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(rows*8*8), "in all, with what was given back")
	runtime.GC()
	runtime.ReadMemStats(&after)
	require.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(rows*8*2))
	runtime.KeepAlive(g)
}

func BenchmarkTable(b *testing.B) {
	for name, extra := range map[string]string{"3 columns": "", "30 columns": "12345.78 12345.78 12345.78 12345.78 12345.78 12345.78 12345.78 12345.78 12345.78 12345.78 12345.78 12345.78 12345.78 12345.78 12345.78 12345.78 12345.78 12345.78 12345.78 12345.78 12345.78 12345.78 12345.78 12345.78 12345.78 12345.78 12345.78 "} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				r := &bigTable{rows: 3_000_000, files: 3000, extra: extra}
				start := time.Now()
				n, _ := io.Copy(io.Discard, &bigTable{rows: 3_000_000, files: 3000, extra: extra})
				making := time.Since(start)
				start = time.Now()
				if _, err := groupTable(r); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric((time.Since(start) - making).Seconds(), "s")
				b.ReportMetric(float64(n)/1e6, "MB")
				b.ReportMetric(making.Seconds(), "s-making")
			}
		})
	}
}
