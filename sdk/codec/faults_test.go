package codec

import (
	"bytes"
	"compress/gzip"
	stdzlib "compress/zlib"
	"encoding/binary"
	"encoding/json"
	"runtime"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
)

// Report 94: frames of a few bytes that announce, or unpack to, far more than
// the 64 bytes that are due. Valid ones are read, whatever window they ask
// for; others are refused, in little memory.
func TestReport94Bombs(t *testing.T) {
	chunk := make([]byte, 64)
	for i := range chunk {
		chunk[i] = byte(i * 37)
	}
	long := make([]byte, 4<<20)
	inGzip := func(b []byte) []byte {
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		w.Write(b)
		w.Close()
		return out.Bytes()
	}
	inZlib := func(b []byte) []byte {
		var out bytes.Buffer
		w := stdzlib.NewWriter(&out)
		w.Write(b)
		w.Close()
		return out.Bytes()
	}
	inZstd := func(b []byte, o ...zstd.EOption) []byte {
		e, err := zstd.NewWriter(nil, append(o, zstd.WithEncoderConcurrency(1))...)
		require.NoError(t, err)
		defer e.Close()
		return e.EncodeAll(b, nil)
	}
	// A frame by hand: its descriptor, what follows that, and one block.
	frame := func(descriptor byte, fields []byte, kind uint32, size int, content ...byte) []byte {
		b := append([]byte{0x28, 0xb5, 0x2f, 0xfd, descriptor}, fields...)
		head := 1 | kind<<1 | uint32(size)<<3
		return append(append(b, byte(head), byte(head>>8), byte(head>>16)), content...)
	}
	size := func(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }
	const raw, run, window512M = 0, 1, (29 - 10) << 3
	skipped := append([]byte{0x50, 0x2a, 0x4d, 0x18, 5, 0, 0, 0}, "aside"...)
	half := inZstd(chunk[:32])
	rest := inZstd(chunk[32:])
	many := bytes.Repeat(inZstd(long[:1<<20]), 16)
	for _, tc := range []struct {
		name, codec string
		src         []byte
		fine        bool
	}{
		{"a window of 512 MiB", "zstd", frame(0, []byte{window512M}, raw, 64, chunk...), true},
		{"a window that nobody has", "zstd", frame(0, []byte{0xff}, raw, 64, chunk...), false},
		{"a window, and too much", "zstd", frame(0, []byte{window512M}, run, 1<<17, 7), false},
		{"2^60 bytes announced", "zstd", frame(0xc0, append([]byte{window512M}, size(1<<60)...), raw, 64, chunk...), false},
		{"2^64-1 bytes announced, which means unknown to the peers", "zstd", frame(0xc0, append([]byte{0}, size(1<<64-1)...), raw, 64, chunk...), true},
		{"2^60 bytes of one segment", "zstd", frame(0xe0, size(1<<60), raw, 64, chunk...), false},
		{"65 bytes announced", "zstd", frame(0xe0, size(65), raw, 64, chunk...), false},
		{"63 bytes announced", "zstd", frame(0xe0, size(63), raw, 64, chunk...), false},
		{"64 bytes announced", "zstd", frame(0xe0, size(64), raw, 64, chunk...), true},
		{"4 MiB", "zstd", inZstd(long), false},
		{"4 MiB without saying so", "zstd", func() []byte {
			var out bytes.Buffer
			w, err := zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1))
			require.NoError(t, err)
			w.Write(long[:1<<20])
			w.Flush()
			w.Write(long[1<<20:])
			w.Close()
			return out.Bytes()
		}(), false},
		{"two frames", "zstd", append(bytes.Clone(half), rest...), true},
		{"three frames", "zstd", append(append(bytes.Clone(half), rest...), half...), false},
		{"frames without end", "zstd", many, false},
		{"something skipped", "zstd", append(append(append(bytes.Clone(half), skipped...), rest...), skipped...), true},
		{"something skipped, of 4 GiB", "zstd", append(bytes.Clone(half), 0x50, 0x2a, 0x4d, 0x18, 0xff, 0xff, 0xff, 0xff), false},
		{"4 MiB", "gzip", inGzip(long), false},
		{"two members", "gzip", append(inGzip(chunk[:32]), inGzip(chunk[32:])...), true},
		{"two members, too much", "gzip", append(inGzip(chunk), inGzip(chunk)...), false},
		{"a member, and 4 MiB", "gzip", append(inGzip(chunk), inGzip(long)...), false},
		{"4 MiB", "numcodecs.zlib", inZlib(long), false},
	} {
		t.Run(tc.codec+", "+tc.name, func(t *testing.T) {
			c, err := New(tc.codec, json.RawMessage(map[string]string{"zstd": `{"level":1,"checksum":false}`}[tc.codec]))
			if tc.codec != "zstd" {
				c, err = New(tc.codec, json.RawMessage(`{"level":1}`))
			}
			require.NoError(t, err)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got, err := c.Decode(t.Context(), nil, tc.src, len(chunk))
			runtime.ReadMemStats(&after)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
			if tc.fine {
				require.NoError(t, err)
				require.Equal(t, chunk, got)
				return
			}
			if err == nil { // short: whoever asked sees that it is not a chunk
				require.NotEqual(t, len(chunk), len(got))
				return
			}
			require.Contains(t, []fault.Code{fault.CodeLimit, fault.CodeCorrupt}, fault.CodeOf(err), err)
		})
	}
}
