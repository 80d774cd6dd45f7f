package storage

import (
	"hash/crc32"
	"io"
	"sync"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// UpdateCRC adds p to a CRC-32C; the first one is 0.
func UpdateCRC(crc uint32, p []byte) uint32 { return crc32.Update(crc, castagnoli, p) }

var through = sync.Pool{New: func() any { b := make([]byte, 1<<20); return &b }}

// CopyThrough is File.CopyRange by way of a buffer, for any two files. The
// bytes that were written, whatever happens to src meanwhile, are added to
// the CRC. The ranges must not overlap in one file.
func CopyThrough(dst io.WriterAt, off int64, src io.ReaderAt, srcOff, n int64, crc uint32) (copied int64, sum uint32, err error) {
	pooled := through.Get().(*[]byte)
	defer through.Put(pooled)
	buf := *pooled
	for copied < n {
		p := buf[:min(n-copied, int64(len(buf)))]
		k, err := src.ReadAt(p, srcOff+copied)
		if err != nil && err != io.EOF {
			return copied, crc, err
		}
		if _, werr := dst.WriteAt(p[:k], off+copied); werr != nil {
			return copied, crc, werr
		}
		crc = UpdateCRC(crc, p[:k])
		copied += int64(k)
		if err == io.EOF {
			break
		}
	}
	return copied, crc, nil
}
