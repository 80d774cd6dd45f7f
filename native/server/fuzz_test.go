package server_test

import (
	"bufio"
	"bytes"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/native/server"
	"github.com/gridhold/gridhold/sdk/storage"
)

// FuzzRequest answers requests of any bytes. Whatever they ask for, what
// comes is bytes of the object that was named, where Content-Range says that
// they are, or a refusal; nothing outside the store has a name.
func FuzzRequest(f *testing.F) {
	object := bytes.Repeat([]byte("0123456789abcdefghijklmnopqrstuvwxyz"), 9)
	tag := `"` // of the object, as the server has it
	{
		w := httptest.NewRecorder()
		server.New(memory(map[string][]byte{"a/b": object}), server.Options{}).ServeHTTP(w, httptest.NewRequest("HEAD", "/a/b", nil))
		tag = w.Header().Get("ETag")
	}
	for _, lines := range []string{
		"GET /a/b HTTP/1.1\r\nHost: x\r\nRange: bytes=0-3, 7-9,-5\r\n",
		"GET /a/b HTTP/1.1\r\nHost: x\r\nRange: bytes=5-\r\nIf-Range: " + tag + "\r\n",
		"GET /a/b HTTP/1.1\r\nHost: x\r\nRange: bytes=-0\r\n",
		"GET /a/b HTTP/1.1\r\nHost: x\r\nRange: bytes=18446744073709551615-18446744073709551616\r\n",
		"GET /a/b HTTP/1.1\r\nHost: x\r\nIf-Match: " + tag + ", W/\"x\"\r\nRange: bytes=9223372036854775806-9223372036854775807\r\n",
		"GET /a/b HTTP/1.1\r\nHost: x\r\nIf-None-Match: *\r\n",
		"HEAD /a/b HTTP/1.1\r\nHost: [::1]:80\r\n",
		"GET /a/../../etc/passwd HTTP/1.1\r\nHost: x\r\n",
		"GET /a%2fb%00 HTTP/1.1\r\nHost: x\r\n",
		"GET /a/ HTTP/1.1\r\nHost: x\r\nAccept: text/html\r\n",
		"GET /.gridhold/index.html HTTP/1.1\r\nHost: x\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: x\r\nOrigin: null\r\nAccess-Control-Request-Private-Network: true\r\n",
		"PUT /a/b HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n",
		"GET /empty HTTP/1.1\r\nHost: x\r\nRange: bytes=-5\r\n",
	} {
		f.Add([]byte(lines + "\r\n"))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(text)))
		if err != nil || r.URL.Query().Has("events") { // a stream does not end
			return
		}
		objects := map[string][]byte{"a/b": object, "empty": {}, "a/c.json": []byte("{}")}
		h := server.New(memory(objects), server.Options{Page: map[string][]byte{"index.html": []byte("page")}})
		w := httptest.NewRecorder()
		if !served(h, w, r) {
			return // the connection was given up
		}
		res := w.Result()
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.Contains(t, []int{200, 204, 206, 302, 304, 400, 403, 404, 405, 412, 416, 421}, res.StatusCode)
		for name, values := range res.Header {
			for _, v := range values {
				require.False(t, strings.ContainsAny(name+v, "\r\n"), "%s: %q", name, v)
			}
		}
		if res.StatusCode/100 != 2 || r.Method != http.MethodGet {
			return
		}
		want, ok := objects[strings.TrimPrefix(r.URL.Path, "/")]
		if !ok { // a listing or the page
			require.NotContains(t, string(body), "root:")
			return
		}
		if res.StatusCode == http.StatusOK {
			require.Equal(t, string(want), string(body))
			return
		}
		kind, params, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
		require.NoError(t, err)
		if kind != "multipart/byteranges" {
			require.Equal(t, string(span(t, res.Header.Get("Content-Range"), want)), string(body))
			return
		}
		for parts := multipart.NewReader(bytes.NewReader(body), params["boundary"]); ; {
			p, err := parts.NextPart()
			if err == io.EOF {
				break
			}
			require.NoError(t, err)
			b, err := io.ReadAll(p)
			require.NoError(t, err)
			require.Equal(t, string(span(t, p.Header.Get("Content-Range"), want)), string(b))
		}
	})
}

// served reports whether a request was answered.
func served(h http.Handler, w http.ResponseWriter, r *http.Request) (ok bool) {
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler {
			panic(p)
		}
	}()
	h.ServeHTTP(w, r)
	return true
}

// span is what a Content-Range says of an object.
func span(t *testing.T, field string, object []byte) []byte {
	rest, ok := strings.CutPrefix(field, "bytes ")
	require.True(t, ok, field)
	rest, ok = strings.CutSuffix(rest, "/"+strconv.Itoa(len(object)))
	require.True(t, ok, field)
	from, to, ok := strings.Cut(rest, "-")
	require.True(t, ok, field)
	a, err := strconv.Atoi(from)
	require.NoError(t, err, field)
	b, err := strconv.Atoi(to)
	require.NoError(t, err, field)
	require.True(t, 0 <= a && a <= b && b < len(object), field)
	return object[a : b+1]
}

// The last 0 bytes of an object cannot be had; what else is asked for can.
func TestTheLastNoBytes(t *testing.T) {
	url := serve(t, memory(map[string][]byte{"k": []byte("abc")}), server.Options{}) + "/k"
	for _, field := range []string{"bytes=-0", "bytes=-00", "bytes=-0, -0"} {
		a := ask(t, "GET", url, "Range", field)
		require.Equal(t, http.StatusRequestedRangeNotSatisfiable, a.StatusCode, field)
		require.Equal(t, "bytes */3", a.Header.Get("Content-Range"))
	}
	a := ask(t, "GET", url, "Range", "bytes=-0,1-1")
	require.Equal(t, http.StatusPartialContent, a.StatusCode)
	require.Equal(t, "b", a.body)
	require.Equal(t, "bytes 1-1/3", a.Header.Get("Content-Range"))
}

// FuzzEscapeKey: a key is one path of a URL and no other's, which leads to it.
func FuzzEscapeKey(f *testing.F) {
	for _, key := range []string{"a/b", "a b", "ä/%41", "a?b#c", "a//b", "..", "%2e%2e/x", "\xff", "c:\\d", "a;b=c", "+"} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		path := storage.EscapeKey(key)
		for i := range len(path) {
			c := path[i]
			require.True(t, c > ' ' && c < 0x7f && c != '?' && c != '#', path)
		}
		back, err := url.PathUnescape(path)
		require.NoError(t, err)
		require.Equal(t, key, back)
		require.Equal(t, path, storage.EscapeKey(back))
		if !storage.ValidKey(key) {
			return
		}
		u, err := url.Parse("http://localhost/" + path)
		require.NoError(t, err)
		require.Equal(t, "/"+key, u.Path)
		h := server.New(memory(map[string][]byte{key: []byte("here")}), server.Options{})
		w := httptest.NewRecorder()
		h.ServeHTTP(w, &http.Request{Method: http.MethodGet, URL: u, Host: u.Host, Header: http.Header{}})
		reserved := key == server.Reserved || strings.HasPrefix(key, server.Reserved+"/")
		require.Equal(t, !reserved, w.Code == http.StatusOK && w.Body.String() == "here", "%q: %d", key, w.Code)
	})
}
