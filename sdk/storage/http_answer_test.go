package storage

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
)

func TestParseContentRange(t *testing.T) {
	for text, want := range map[string]contentRange{
		"bytes 3-9/100": {3, 7, 100},
		"bytes 3-9/*":   {3, 7, -1},
		"Bytes 0-0/1":   {0, 1, 1},
		"bytes */100":   {0, -1, 100},
		"bytes 0--1/0":  {0, 0, 0},
		"bytes 0-9223372036854775806/9223372036854775807": {0, 9223372036854775807, 9223372036854775807},
	} {
		got, ok := parseContentRange(text)
		require.True(t, ok, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{
		"", "bytes", "bytes 3-9", "items 3-9/100", "bytes 9-3/100", "bytes -3-9/100", "bytes +3-9/100", "bytes 3-100/100",
		"bytes */*", "bytes */-1", "bytes 0--1/1", "bytes 1--1/0", "bytes 3-/100", "bytes -3/100", "bytes 3-9/1e3", "bytes 0-9223372036854775807/*", "bytes 3 - 9/100",
		"bytes 0-99999999999999999999/*",
	} {
		_, ok := parseContentRange(text)
		require.False(t, ok, text)
	}
}

func FuzzParseContentRange(f *testing.F) {
	for _, s := range []string{"bytes 3-9/100", "bytes */7", "bytes 0-0/*", "bytes 9223372036854775806-9223372036854775806/*"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, ok := parseContentRange(s)
		if !ok {
			return
		}
		require.True(t, strings.Contains(s, "/"))
		require.GreaterOrEqual(t, c.off, int64(0))
		require.GreaterOrEqual(t, c.size, int64(-1))
		if c.n >= 0 {
			require.True(t, c.n > 0 || c == contentRange{})
			require.GreaterOrEqual(t, c.off+c.n, c.n)
			require.True(t, c.size < 0 || c.off+c.n <= c.size)
		} else {
			require.GreaterOrEqual(t, c.size, int64(0))
		}
	})
}

func TestEscapeKey(t *testing.T) {
	for key, want := range map[string]string{
		"a b": "a%20b", "a+b": "a%2Bb", "a#b": "a%23b", "a?b": "a%3Fb", "a%20b": "a%2520b", "\u00e9": "%C3%A9", "e\u0301": "e%CC%81",
		"日本": "%E6%97%A5%E6%9C%AC", "c/0/1": "c/0/1", "A-z_0.9~": "A-z_0.9~", "🜚": "%F0%9F%9C%9A", "a:b@c": "a%3Ab%40c",
		strings.Repeat("é", 100): strings.Repeat("%C3%A9", 100),
	} {
		require.Equal(t, want, EscapeKey(key))
	}
	for _, tc := range [][2]string{
		{"http://h", "http://h/k%20k"},
		{"http://h/", "http://h/k%20k"},
		{"http://h/a/b//", "http://h/a/b/k%20k"},
		{"http://h/a?sig=1%2F2&x=/", "http://h/a/k%20k?sig=1%2F2&x=/"},
		{"http://h/a#f", "http://h/a/k%20k"},
	} {
		require.Equal(t, tc[1], NewHTTP(nil, tc[0], HTTPOptions{}).URL("k k"))
	}
}

// What tells that bytes are not the object's counts in any of the fields.
func TestUnencoded(t *testing.T) {
	for _, tc := range []struct {
		status int
		header []Field
		ok     bool
	}{
		{206, []Field{{"content-encoding", ""}, {"Content-Encoding", "Identity"}}, true},
		{206, []Field{{"Content-Encoding", "identity"}, {"content-encoding", "gzip"}}, false},
		{200, []Field{{"Content-Encoding", "br"}}, false},
		{206, []Field{{"Content-Type", "Multipart/ByteRanges; boundary=x"}}, false},
		{200, []Field{{"Content-Type", "multipart/byteranges"}}, true}, // the object itself is one
		{206, []Field{{"Content-Type", "multipart/mixed"}}, true},
	} {
		res := Response{Status: tc.status, Header: tc.header, Body: []byte("0123456789")}
		err := unencoded("k", res)
		require.Equal(t, tc.ok, err == nil, "%v", tc.header)
		if tc.status == 206 && !tc.ok {
			_, err = partial("k", res, Range{0, 10})
			require.ErrorIs(t, err, fault.ErrUnsupported)
			_, err = suffixPart("k", res, 10)
			require.ErrorIs(t, err, fault.ErrUnsupported)
		}
	}
}

// A tag goes back to the server in If-Match: one that came from elsewhere (an
// index pack) ends no line there, and is a version that nothing has.
func TestStrongTag(t *testing.T) {
	for tag, strong := range map[string]bool{
		`"a"`: true, `""`: true, `"a b"`: true, `"\xe9"`: true, "": false, `"`: false, `"a`: false, `a"`: false, `W/"a"`: false,
		`"a"b"`: false, "\"a\r\nHost: b\"": false, "\"\x7f\"": false,
	} {
		require.Equal(t, strong, validatorOf(Response{Header: []Field{{"etag", tag}}}, 3).etag != "", "%q", tag)
		w, ok := wanted(Version(tag))
		require.Equal(t, strong, ok && w.etag == tag, "%q", tag)
		if !strong && tag != "" {
			require.ErrorIs(t, answer{}.check("k", Version(tag)), fault.ErrStale)
		}
	}
}
