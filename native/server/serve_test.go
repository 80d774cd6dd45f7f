package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/native/server"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/storage/storagetest"
)

// running is a server by Serve on the loopback interface.
type running struct {
	address string
	stop    context.CancelFunc
	ended   chan error
}

func (r *running) url() string { return "http://" + r.address }

func run(t *testing.T, h *server.Handler, o server.Limits) *running {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c, stop := context.WithCancel(ctx)
	r := &running{l.Addr().String(), stop, make(chan error, 1)}
	go func() { r.ended <- server.Serve(c, l, h, o); close(r.ended) }()
	t.Cleanup(func() { stop(); <-r.ended })
	return r
}

func TestProtocols(t *testing.T) {
	r := run(t, server.New(memory(map[string][]byte{"x": []byte("12345")}), server.Options{}), server.Limits{})
	for major, set := range map[int]func(*http.Protocols, bool){1: (*http.Protocols).SetHTTP1, 2: (*http.Protocols).SetUnencryptedHTTP2} {
		var p http.Protocols
		set(&p, true)
		tr := &http.Transport{Protocols: &p}
		for range 3 {
			req, err := http.NewRequest("GET", r.url()+"/x", nil)
			require.NoError(t, err)
			req.Header.Set("Range", "bytes=-2")
			res, err := tr.RoundTrip(req)
			require.NoError(t, err)
			body, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			res.Body.Close()
			require.Equal(t, major, res.ProtoMajor)
			require.Equal(t, 206, res.StatusCode)
			require.Equal(t, "45", string(body))
		}
		tr.CloseIdleConnections()
	}
}

// held is a store whose reads wait.
type held struct {
	storage.Store
	asked, release chan bool
}

func (h held) ReadRanges(ctx context.Context, key string, rs []storage.Range, want storage.Version) ([][]byte, storage.ObjectInfo, error) {
	h.asked <- true
	<-h.release
	return h.Store.ReadRanges(ctx, key, rs, want)
}

// Requests in flight are answered before the server ends; later ones are not
// taken; those that do not come to an end are cut.
func TestShutdown(t *testing.T) {
	s := held{memory(map[string][]byte{"x": []byte("12345")}), make(chan bool), make(chan bool)}
	r := run(t, server.New(s, server.Options{}), server.Limits{})
	got := make(chan string)
	go func() {
		res, err := http.Get(r.url() + "/x")
		if err != nil {
			got <- err.Error()
			return
		}
		defer res.Body.Close()
		b, _ := io.ReadAll(res.Body)
		got <- string(b)
	}()
	<-s.asked
	r.stop()
	for { // until it has heard
		c, err := net.Dial("tcp", r.address)
		if err != nil {
			break
		}
		c.Close()
		runtime.Gosched()
	}
	s.release <- true
	require.Equal(t, "12345", <-got)
	require.NoError(t, <-r.ended)

	r = run(t, server.New(s, server.Options{}), server.Limits{Grace: time.Millisecond})
	go http.Get(r.url() + "/x")
	<-s.asked
	r.stop()
	require.NoError(t, <-r.ended)
	s.release <- true
}

// speak sends text and returns the first line of the answer, or what ended
// the connection.
func speak(t *testing.T, address, text string) string {
	c, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.SetDeadline(time.Now().Add(2*time.Minute)))
	_, _ = io.WriteString(c, text)
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(line)
}

// Clients that do it wrong, or never end, are answered or dropped in bounded
// time; others do not notice.
func TestBadClients(t *testing.T) {
	big := storagetest.Pattern(32<<20, 1)
	h := server.New(memory(map[string][]byte{"x": []byte("12345"), "big": big}), server.Options{Stall: 500 * time.Millisecond})
	r := run(t, h, server.Limits{Connections: 8})
	for text, want := range map[string]string{
		"GET /x HTTP/1.1\r\nHost: a\r\n\r\n": "HTTP/1.1 200 OK",
		"nonsense\r\n\r\n":                   "HTTP/1.1 400 Bad Request",
		"GET /x HTTP/1.1\r\n\r\n":            "HTTP/1.1 400 Bad Request: missing required Host header",
		"GET /x HTTP/1.1\r\nHost: a\r\nA: " + strings.Repeat("a", 200<<10):                "HTTP/1.1 431 Request Header Fields Too Large",
		"GET /x HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc":                    "HTTP/1.1 400 Bad Request", // and never the rest
		"GET /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n":                "HTTP/1.1 400 Bad Request",
		"GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n":                                            "HTTP/1.1 400 Bad Request",
		"GET /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabc": "HTTP/1.1 400 Bad Request",
	} {
		require.Equal(t, want, speak(t, r.address, text), "%.60q", text)
	}
	hasty := run(t, h, server.Limits{Header: 200 * time.Millisecond})
	for text, want := range map[string]string{
		"GET /x HTTP/1.1\r\nHost: a\r\nX": "HTTP/1.1 400 Bad Request", // and no more
		"":                                "EOF",
	} {
		require.Equal(t, want, speak(t, hasty.address, text), "%.60q", text)
	}

	// More who take nothing of what they ask for than there may be
	// connections: the last gets its turn.
	for range 12 {
		c, err := net.Dial("tcp", r.address)
		require.NoError(t, err)
		defer c.Close()
		_, _ = io.WriteString(c, "GET /big HTTP/1.1\r\nHost: a\r\n\r\n")
	}
	require.Equal(t, "HTTP/1.1 200 OK", speak(t, r.address, "GET /x HTTP/1.1\r\nHost: a\r\n\r\n"))

	// Who goes in the middle leaves nothing behind.
	for range 50 {
		c, err := net.Dial("tcp", r.address)
		require.NoError(t, err)
		_, _ = io.WriteString(c, "GET /big HTTP/1.1\r\nHost: a\r\nRange: bytes=5-\r\n\r\n")
		_, _ = c.Read(make([]byte, 10))
		c.Close()
	}
	r.stop()
	require.NoError(t, <-r.ended)
	_, err := net.Dial("tcp", r.address)
	require.Error(t, err)
}

func ExampleServe() {
	store := storage.NewMemory()
	store.Set("a/b", []byte("some bytes"))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	c, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- server.Serve(c, l, server.New(store, server.Options{}), server.Limits{}) }()

	res, err := http.Get("http://" + l.Addr().String() + "/a/")
	if err != nil {
		panic(err)
	}
	listing, _ := io.ReadAll(res.Body)
	res.Body.Close()
	fmt.Println(string(listing))
	stop()
	fmt.Println(<-ended)
	// Output:
	// {"path":"a/","names":["b"]}
	// <nil>
}
