package xz

import (
	"bytes"
	"encoding/base64"
	"hash/crc32"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
)

// packed is what Python's lzma writes.
const packed = "/Td6WFoAAATm1rRGAgAhARYAAAB0L+Wj4AEfAGNdADOciVW9KLZV3gdoV84UEAgPOxe2Yc0O1iY3w6YP9qWvQbKDKdgkJ0w2he26vh4PFIK5NGcRITqNR4vx2j9CYkpkA0RrLQBz7lUyLFGNN3jiH0ojlKoaY3eZjAWwcsu4cSI/ggAAyEfZmdMN3esAAX+gAgAAANQ8D+OxxGf7AgAAAAAEWVo="

func FuzzXZ(f *testing.F) {
	b, err := base64.StdEncoding.DecodeString(packed)
	require.NoError(f, err)
	for _, form := range []byte{0, 1, 2, 3} {
		f.Add(b, form, true)
		f.Add(b[24:], form, false)
	}
	f.Add([]byte("]\x00\x00\x80\x00\xff\xff\xff\xff\xff\xff\xff\xff\x000\x9b\xca\xf3\xff\xfe\x14\x80\x00"), byte(1), false)
	f.Fuzz(func(t *testing.T, src []byte, form byte, mend bool) {
		if mend {
			mendHeaders(src)
		}
		const limit = 1 << 16
		head := []byte("head")
		var out []byte
		var err error
		switch form % 4 {
		case 0:
			out, err = Append(head, src, limit)
		case 1:
			out, err = AppendAlone(head, src, limit)
		case 2:
			out, err = AppendRaw2(head, src, limit)
		case 3:
			out, err = AppendRaw1(head, src, int(form>>2&7), int(form>>5)%5, 2, limit)
		}
		if err != nil {
			code := fault.CodeOf(err)
			require.Contains(t, []fault.Code{fault.CodeCorrupt, fault.CodeLimit, fault.CodeUnsupported}, code)
			return
		}
		require.True(t, bytes.HasPrefix(out, head))
		require.LessOrEqual(t, len(out), len(head)+limit)
	})
}

// mendHeaders sets the sums of the stream's and the first block's header, so
// that what lies behind them is reached.
func mendHeaders(b []byte) {
	if len(b) < 13 {
		return
	}
	copy(b, magic)
	le.PutUint32(b[8:], crc32.ChecksumIEEE(b[6:8]))
	if size := 4 * (int(b[12]) + 1); size >= 8 && len(b) >= 12+size {
		le.PutUint32(b[12+size-4:], crc32.ChecksumIEEE(b[12:12+size-4]))
	}
}

func TestUndoDelta(t *testing.T) {
	b := []byte{1, 2, 1, 2, 1, 2, 255}
	UndoDelta(b, 2)
	require.Equal(t, []byte{1, 2, 2, 4, 3, 6, 2}, b)
	UndoDelta(b, 0)
	require.Equal(t, []byte{1, 2, 2, 4, 3, 6, 2}, b)
}

func TestFiltersWithoutDecoder(t *testing.T) {
	b, err := base64.StdEncoding.DecodeString(packed)
	require.NoError(t, err)
	b[14] = 4 // x86
	mendHeaders(b)
	_, err = Append(nil, b, 1000)
	require.ErrorIs(t, err, fault.ErrUnsupported)
}
