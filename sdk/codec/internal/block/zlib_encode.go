package block

import (
	"sync"

	"github.com/klauspost/compress/zlib"
)

// deflater is a zlib encoder with the buffer that it writes to.
type deflater struct {
	out []byte
	z   *zlib.Writer
}

func (d *deflater) Write(b []byte) (int, error) {
	d.out = append(d.out, b...)
	return len(b), nil
}

// deflaters are those that are not in use, by level.
var deflaters [zlib.BestCompression + 1]sync.Pool

// AppendZlibPacked appends src as one zlib stream (RFC 1950) to dst. level is
// in 1..9.
func AppendZlibPacked(dst, src []byte, level int) []byte {
	d, _ := deflaters[level].Get().(*deflater)
	if d == nil {
		d = new(deflater)
		var err error
		if d.z, err = zlib.NewWriterLevel(d, level); err != nil {
			panic(err) // the level is in its range
		}
	}
	d.out = dst
	d.z.Reset(d)
	_, err := d.z.Write(src)
	if err == nil {
		err = d.z.Close()
	}
	out := d.out
	d.out = nil
	if err != nil {
		panic(err) // appending does not fail
	}
	deflaters[level].Put(d)
	return out
}
