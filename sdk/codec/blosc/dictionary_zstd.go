//go:build !gridhold_guest

package blosc

import (
	"hash/crc32"

	"github.com/klauspost/compress/dict"
	"github.com/klauspost/compress/zstd"
)

// trainZstd makes a dictionary of at most most bytes; nil: it does not pay.
func trainZstd(parts [][]byte, most int) *dictionary {
	b, err := dict.BuildZstdDict(parts, dict.Options{
		MaxDictSize: most,
		HashBytes:   6,
		ZstdDictID:  crc32.ChecksumIEEE(parts[0]) | 1<<15, // the first numbers belong to registered ones
		ZstdLevel:   zstd.SpeedFastest,
	})
	if err != nil || len(b) > maxDictionary {
		return nil // too little repeats
	}
	z, err := zstd.NewWriter(nil, zstd.WithEncoderDict(b), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false),
		zstd.WithEncoderConcurrency(1), zstd.WithAllLitEntropyCompression(true)) // shuffled numbers have few matches, and few different bytes
	if err != nil {
		return nil
	}
	return &dictionary{bytes: b, zstd: func(dst, src []byte) []byte { return z.EncodeAll(src, dst) }}
}
