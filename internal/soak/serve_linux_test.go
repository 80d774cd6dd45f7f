package soak

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// warm reads an object, over a connection that does not stay.
func warm(t *testing.T, url string) {
	req, err := http.NewRequest("GET", url, nil)
	require.NoError(t, err)
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	require.NoError(t, err)
}

// TestSoakServe puts "gridhold serve" under load.
func TestSoakServe(t *testing.T) {
	dir := t.TempDir()
	big := make([]byte, 16<<20)
	for i := range big {
		big[i] = byte(i*i>>7) ^ byte(i)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "big"), big, 0o666))
	for i := range 100 {
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), big[i*100:i*100+i], 0o666))
	}
	s := launch(t, "./cmd/gridhold", "serve", "--listen", "127.0.0.1:0", dir)
	for i := range 100 { // files that are read stay open
		warm(t, s.url(fmt.Sprint("/", i)))
	}
	warm(t, s.url("/big"))
	first := s.look()
	l := newLoad(t, s)
	for range 6 {
		l.client(func() (*http.Request, func(int, []byte) error) {
			if rand.IntN(3) == 0 {
				i := 1 + rand.IntN(99)
				req, err := http.NewRequest("GET", s.url(fmt.Sprint("/", i)), nil)
				require.NoError(t, err)
				return req, same(big[i*100 : i*100+i])
			}
			req, err := http.NewRequest("GET", s.url("/big"), nil)
			require.NoError(t, err)
			at := rand.IntN(len(big) - 1)
			n := min(1+rand.IntN(1<<uint(rand.IntN(22))), len(big)-at)
			req.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", at, at+n-1))
			return req, same(big[at : at+n])
		})
	}
	l.foes(12, tricks("/big"))
	took := l.run(long(t))
	if t.Failed() {
		return
	}
	most := s.flat(sample{memory: 192 << 20, files: 100 + 128})
	s.settles(first)

	// SIGTERM, while some read slowly, one says half a header, one hears events.
	var open []*bufio.Reader
	for range 4 {
		c, err := net.Dial("tcp", s.addr)
		require.NoError(t, err)
		defer c.Close()
		say(c, "GET /big"+hello+"\r\n")
		r := bufio.NewReaderSize(c, 1<<12)
		_, err = r.Peek(1)
		require.NoError(t, err)
		open = append(open, r)
	}
	half, err := net.Dial("tcp", s.addr)
	require.NoError(t, err)
	defer half.Close()
	say(half, "GET /big HTTP/1.1\r\nHost: loc")
	s.ends(func() {
		var all sync.WaitGroup
		for _, r := range open {
			all.Go(func() {
				res, err := http.ReadResponse(r, nil)
				if err == nil {
					var got []byte
					if got, err = io.ReadAll(res.Body); err == nil {
						err = same(big)(res.StatusCode, got)
					}
				}
				if err != nil {
					t.Errorf("in flight when it ended: %v", err)
				}
			})
		}
		all.Wait()
	})
	_, err = net.Dial("tcp", s.addr)
	require.Error(t, err)
	middle, longest := l.times()
	record(t, "gridhold serve under good, slow, aborting and malformed clients", took, map[string]int64{
		"requests": l.served.Load(), "bytes served": l.bytes.Load(), "connections of bad clients": l.tricks.Load(),
		"largest memory, MiB": most.memory >> 20, "most descriptors": most.files,
		"median request, microseconds": middle.Microseconds(), "longest request, milliseconds": longest.Milliseconds(),
	})
}
