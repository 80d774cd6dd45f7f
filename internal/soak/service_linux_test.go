package soak

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/storage/storagetest"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// serviceMay is two sandboxes of 128 MiB beside what else the service has; as
// many files as its store keeps open, and room for connections.
var serviceMay = sample{memory: 512 << 20, files: 512 + 256}

const array = "../../testdata/zarr/big_index_zarr-python"

// TestSoakService puts the sandboxes of examples/service under load: good
// clients read subchunks, others upload damaged archives and read from those.
func TestSoakService(t *testing.T) {
	st, err := file.Open(array, file.Options{})
	require.NoError(t, err)
	defer st.Close()
	a, err := zarr.OpenArray(t.Context(), st, "", zarr.Options{})
	require.NoError(t, err)
	var want [][]byte
	for i := range 32 {
		b, err := a.RetrieveSubchunk(t.Context(), []int64{int64(i), int64(31 - i)}, zarr.ReadOptions{})
		require.NoError(t, err)
		want = append(want, b)
	}
	whole := storagetest.Zip(t, os.DirFS(filepath.Clean(array)))
	s := launch(t, "./examples/service", "-listen", "127.0.0.1:0", "-instances", "2", t.TempDir())
	upload := func(b []byte) (status int, name string) {
		res, err := http.Post(s.url("/arrays"), "application/zip", bytes.NewReader(b))
		require.NoError(t, err)
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return res.StatusCode, strings.TrimSpace(string(text))
	}
	status, name := upload(whole)
	require.Equal(t, http.StatusCreated, status, name)
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	l := newLoad(t, s)
	ask := func(i int) *http.Request {
		req, err := http.NewRequest("GET", s.url(fmt.Sprintf("/arrays/%s/%d.%d", name, i, 31-i)), nil)
		require.NoError(t, err)
		return req
	}
	var refused, late atomic.Int64 // late: a call has 5 s of the clock, which a machine with other work may need
	for range 3 {
		l.client(func() (*http.Request, func(int, []byte) error) {
			i := rand.IntN(len(want))
			return ask(i), func(status int, body []byte) error {
				if status == http.StatusServiceUnavailable {
					late.Add(1)
					return nil
				}
				return same(want[i])(status, body)
			}
		})
	}
	for range 2 { // uploads of damaged archives, a few of which are none
		l.client(func() (*http.Request, func(int, []byte) error) {
			b := bytes.Clone(whole)
			for range 1 + rand.IntN(4) {
				b[rand.IntN(len(b))] ^= 1 << rand.IntN(8)
			}
			if rand.IntN(3) == 0 {
				b = b[:rand.IntN(len(b))]
			}
			if rand.IntN(3) == 0 { // its directory
				at := len(b) - 1 - rand.IntN(min(len(b), 500))
				b[at] ^= 0xff
			}
			req, err := http.NewRequest("POST", s.url("/arrays"), bytes.NewReader(b))
			require.NoError(t, err)
			return req, func(status int, body []byte) error {
				if status != http.StatusCreated {
					refused.Add(1)
				}
				if status == http.StatusInternalServerError {
					return fmt.Errorf("status %d: %.200s", status, body)
				}
				return nil
			}
		})
	}
	l.foes(6, tricks("/arrays/"+name+"/0.31"))
	took := l.run(long(t))
	if t.Failed() {
		return
	}
	most := s.flat(serviceMay)

	// SIGTERM, with requests in flight and one of which half has come.
	half, err := net.Dial("tcp", s.addr)
	require.NoError(t, err)
	defer half.Close()
	say(half, "POST /arrays"+hello+"Content-Length: 1000\r\n\r\nPK")
	head := make([]byte, 12)
	for range 20 {
		c, err := net.Dial("tcp", s.addr)
		require.NoError(t, err)
		defer c.Close()
		say(c, "GET "+ask(0).URL.Path+hello+"\r\n")
		_, err = io.ReadFull(c, head)
		require.NoError(t, err)
		if string(head) != "HTTP/1.1 503" {
			break
		}
	}
	require.Equal(t, "HTTP/1.1 200", string(head))
	s.ends(func() {})
	middle, longest := l.times()
	record(t, "examples/service: sandboxes for archives of strangers, under good, slow, aborting and malformed clients", took, map[string]int64{
		"requests": l.served.Load(), "bytes served": l.bytes.Load(), "connections of bad clients": l.tricks.Load(), "bad inputs": refused.Load(), "calls out of time": late.Load(),
		"largest memory, MiB": most.memory >> 20, "most descriptors": most.files,
		"median request, microseconds": middle.Microseconds(), "longest request, milliseconds": longest.Milliseconds(),
	})
}
