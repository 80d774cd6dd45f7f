package soak

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// load is good and bad clients of one server.
type load struct {
	t       *testing.T
	s       *server
	over    chan struct{}
	good    sync.WaitGroup
	bad     sync.WaitGroup
	served  atomic.Int64 // good requests
	bytes   atomic.Int64
	tricks  atomic.Int64 // of bad clients
	mu      sync.Mutex
	latency []time.Duration
}

func newLoad(t *testing.T, s *server) *load { return &load{t: t, s: s, over: make(chan struct{})} }

// on reports whether the load goes on.
func (l *load) on() bool {
	select {
	case <-l.over:
		return false
	default:
		return !l.t.Failed()
	}
}

// wait is a while, or until the load is over.
func (l *load) wait(d time.Duration) {
	select {
	case <-l.over:
	case <-time.After(d):
	}
}

// client asks again and again, one request at a time over one connection.
// check is told what came.
func (l *load) client(next func() (*http.Request, func(status int, body []byte) error)) {
	l.good.Go(func() {
		transport := &http.Transport{MaxIdleConnsPerHost: 1}
		defer transport.CloseIdleConnections()
		for once := true; once || l.on(); once = false {
			req, check := next()
			start := time.Now()
			res, err := transport.RoundTrip(req)
			var body []byte
			if err == nil {
				body, err = io.ReadAll(res.Body)
				res.Body.Close()
			}
			took := time.Since(start)
			if err == nil {
				err = check(res.StatusCode, body)
			}
			if err != nil {
				l.t.Errorf("a good client: %s: %v", req.URL, err)
				return
			}
			l.served.Add(1)
			l.bytes.Add(int64(len(body)))
			l.mu.Lock()
			l.latency = append(l.latency, took)
			l.mu.Unlock()
		}
	})
}

// times are the median and the longest time of good requests.
func (l *load) times() (middle, longest time.Duration) {
	slices.Sort(l.latency)
	return l.latency[len(l.latency)/2], l.latency[len(l.latency)-1]
}

// trick is what a bad client does with a connection.
type trick func(l *load, c net.Conn)

// say writes and does not care.
func say(c net.Conn, text string) { _, _ = io.WriteString(c, text) }

// hear reads up to n bytes of an answer, or until it ends.
func hear(c net.Conn, n int64) {
	_ = c.SetReadDeadline(time.Now().Add(2 * time.Second))
	_, _ = io.Copy(io.Discard, io.LimitReader(c, n))
}

const hello = " HTTP/1.1\r\nHost: localhost\r\n"

// tricks are played on anything that speaks HTTP; path is something large.
func tricks(path string) []trick {
	return []trick{
		func(l *load, c net.Conn) { // slowly, a byte at a time, and never all of it
			for _, b := range "GET " + path + hello + "X-Slow: " + strings.Repeat("x", 50) {
				say(c, string(b))
				l.wait(20 * time.Millisecond)
				if !l.on() {
					return
				}
			}
		},
		func(l *load, c net.Conn) { say(c, "GET "+path+hello+"Range: bytes="); l.wait(time.Second) },
		func(_ *load, c net.Conn) { say(c, "GET "+path+hello+"Range: bytes=9-3,x-,-\r\n\r\n"); hear(c, 1<<10) },
		func(_ *load, c net.Conn) {
			say(c, "GET "+path+hello+"Range: bytes="+strings.Repeat("0-1,", 5000)+"0-1\r\n\r\n")
			hear(c, 1<<10)
		},
		func(_ *load, c net.Conn) {
			say(c, "GET "+path+hello+"X: "+strings.Repeat("h", 1<<20)+"\r\n\r\n")
			hear(c, 1<<10)
		},
		func(_ *load, c net.Conn) { // as many headers as go in
			say(c, "GET "+path+hello)
			for i := range 5000 {
				say(c, fmt.Sprintf("X-%d: y\r\n", i))
			}
			hear(c, 1<<10)
		},
		func(_ *load, c net.Conn) { // many requests at once, and the answers read, or not
			for range 20 {
				say(c, "GET "+path+hello+"Range: bytes=0-99\r\n\r\n")
			}
			hear(c, rand.Int64N(9000))
		},
		func(_ *load, c net.Conn) { say(c, "GET "+path+hello+"\r\n"); hear(c, 100) },        // gone in the middle
		func(l *load, c net.Conn) { say(c, "GET "+path+hello+"\r\n"); l.wait(time.Second) }, // takes nothing
		func(_ *load, c net.Conn) {
			var b [4096]byte
			for i := range b {
				b[i] = byte(rand.Uint32())
			}
			_, _ = c.Write(b[:])
			hear(c, 1<<10)
		},
		func(l *load, c net.Conn) {
			say(c, "POST "+path+hello+"Content-Length: 1000000\r\n\r\nhalf of it")
			l.wait(300 * time.Millisecond)
		},
		func(_ *load, c net.Conn) {
			say(c, "POST "+path+hello+"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nffffffffffffffff\r\nx")
			hear(c, 1<<10)
		},
		func(_ *load, c net.Conn) {
			say(c, "GET /../../../etc/passwd"+hello+"\r\nGET /%00%ff"+hello+"\r\n")
			hear(c, 4<<10)
		},
		func(_ *load, c net.Conn) {
			say(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"+strings.Repeat("\xff", 500))
			hear(c, 1<<10)
		},
		func(l *load, c net.Conn) { say(c, "GET /?events"+hello+"\r\n"); l.wait(200 * time.Millisecond) },
		func(l *load, c net.Conn) { l.wait(500 * time.Millisecond) }, // says nothing
	}
}

// foes are n bad clients.
func (l *load) foes(n int, all []trick) {
	for range n {
		l.bad.Go(func() {
			for once := true; once || l.on(); once = false {
				c, err := net.Dial("tcp", l.s.addr)
				if err != nil {
					l.t.Errorf("the server does not take connections: %v", err)
					return
				}
				all[rand.IntN(len(all))](l, c)
				if rand.IntN(2) == 0 {
					_ = c.(*net.TCPConn).SetLinger(0) // reset, not closed
				}
				c.Close()
				l.tricks.Add(1)
			}
		})
	}
}

// run lets it go on for a while.
func (l *load) run(d time.Duration) (took time.Duration) {
	start := time.Now()
	var watching sync.WaitGroup
	watching.Go(func() { l.s.watch(l.over) })
	time.Sleep(d)
	close(l.over)
	watching.Wait()
	l.good.Wait()
	l.bad.Wait()
	return time.Since(start)
}

func same(want []byte) func(int, []byte) error {
	return func(status int, got []byte) error {
		if status/100 != 2 || !bytes.Equal(want, got) {
			return fmt.Errorf("status %d, %d bytes, which are not the %d that were due", status, len(got), len(want))
		}
		return nil
	}
}
