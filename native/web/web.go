// Package web gives the ports Fetcher and Clock over net/http and the
// system's time. What requests mean is storage.HTTP's; this is the exchange.
package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// Options of a Fetcher. The zero value is the advice.
type Options struct {
	Transport http.RoundTripper // in place of the fetcher's own; nil: one with kept connections, HTTP/1.1 and 2
	Redirects int               // followed at most; 0: 5, < 0: none
	UserAgent string            // "": gridhold
	// Allow is asked before each exchange, redirects included; its error is the
	// exchange's. nil: every URL is allowed.
	Allow   func(*url.URL) error
	Silence time.Duration // how long a body may bring no byte; 0: one minute
}

// Fetcher is storage.Fetcher over net/http. It keeps connections alive and is
// safe for concurrent use.
//
// It asks for identity encoding. A 200 that comes packed by gzip all the same
// is unpacked, once; ErrIO if it is not gzip. A redirect to another scheme,
// but from http to https, is ErrNotAllowed; one that leaves the scheme or host
// gets none of the caller's header fields but those that say which bytes, nor
// do those that follow it. A body that ends early, or falls
// silent, is ErrIO.
// Bodies of answers that are errors are not read.
type Fetcher struct {
	client    http.Client
	userAgent string
	silence   time.Duration
	allow     func(*url.URL) error
	close     func()
	servers   storage.Servers
}

// New returns a Fetcher.
func New(o Options) *Fetcher {
	f := &Fetcher{userAgent: o.UserAgent, silence: o.Silence, close: func() {}}
	if f.silence <= 0 {
		f.silence = time.Minute
	}
	if f.userAgent == "" {
		f.userAgent = "gridhold"
	}
	if o.Redirects == 0 {
		o.Redirects = 5
	}
	f.client.Transport = o.Transport
	if o.Transport == nil {
		t := NewTransport()
		f.client.Transport, f.close = t, t.CloseIdleConnections
	}
	f.allow = o.Allow
	if f.allow == nil {
		f.allow = func(*url.URL) error { return nil }
	}
	f.client.CheckRedirect = func(next *http.Request, before []*http.Request) error {
		if err := f.allow(next.URL); err != nil {
			return err
		}
		return redirect(next, before, o.Redirects)
	}
	return f
}

// Servers is storage.Learner's.
func (f *Fetcher) Servers() *storage.Servers { return &f.servers }

// Close drops idle connections. Later exchanges make new ones.
func (f *Fetcher) Close() error {
	f.close()
	return nil
}

// NewTransport makes what a Fetcher has unless it is given another. It sets no
// bound on an exchange as a whole, which is the context's, but on what a silent
// server can hold up.
func NewTransport() *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:    30 * time.Second,
		ResponseHeaderTimeout:  60 * time.Second,
		IdleConnTimeout:        90 * time.Second,
		MaxIdleConns:           256,
		MaxIdleConnsPerHost:    64,
		MaxResponseHeaderBytes: 1 << 20,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // or ranges would be of packed bytes
	}
}

// redirect judges the next step of a request that was led on. Who left the
// origin once is not trusted again on the way back: where it leads is then
// another's choice.
func redirect(next *http.Request, before []*http.Request, most int) error {
	first, last := before[0], before[len(before)-1]
	upgrade := last.URL.Scheme == "http" && next.URL.Scheme == "https"
	switch {
	case len(before) > max(most, 0):
		return fault.New(fault.ErrIO, "http", place(first.URL), "too many redirects")
	case next.URL.Scheme != last.URL.Scheme && !upgrade:
		return fault.New(fault.ErrNotAllowed, "http", place(first.URL), "redirect to another scheme: "+place(next.URL))
	}
	if SameOrigin(next) {
		return nil
	}
	for name := range next.Header {
		switch name {
		case "Range", "If-Match", "Accept-Encoding", "User-Agent":
		default:
			next.Header.Del(name)
		}
	}
	return nil
}

// SameOrigin reports whether a request, and all whose redirects led to it,
// have one scheme and host.
func SameOrigin(r *http.Request) bool {
	for by := r.Response; by != nil && by.Request != nil; by = by.Request.Response {
		if from := by.Request.URL; from.Scheme != r.URL.Scheme || from.Host != r.URL.Host {
			return false
		}
	}
	return true
}

// Fetch is storage.Fetcher's.
func (f *Fetcher) Fetch(ctx context.Context, r storage.Request) (storage.Response, error) {
	hurry, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := f.request(hurry, r)
	if err != nil {
		return storage.Response{}, err
	}
	item := place(req.URL)
	res, err := f.client.Do(req)
	if err != nil {
		return storage.Response{}, failure(ctx, item, err)
	}
	defer res.Body.Close()
	body := &attended{ReadCloser: res.Body, within: f.silence, timer: time.AfterFunc(f.silence, cancel)}
	defer body.timer.Stop()
	res.Body = body
	out := storage.Response{Status: res.StatusCode}
	if r.Method != http.MethodHead && res.StatusCode < 300 {
		if err := receive(res, &out, r.Limit); err != nil {
			return storage.Response{}, failure(ctx, item, err)
		}
	} else {
		// An error page that is short is read to its end, which keeps the
		// connection.
		io.CopyN(io.Discard, res.Body, 4<<10)
	}
	for name, values := range res.Header {
		for _, v := range values {
			out.Header = append(out.Header, storage.Field{Name: name, Value: v})
		}
	}
	return out, nil
}

// attended is a body that is given up when it brings no byte for a while.
type attended struct {
	io.ReadCloser
	within time.Duration
	timer  *time.Timer
}

func (a *attended) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if n > 0 {
		a.timer.Reset(a.within)
	}
	if errors.Is(err, context.Canceled) { // the caller's own end is told first, see failure
		err = errors.New("the server fell silent in the middle of its answer")
	}
	return n, err
}

func (f *Fetcher) request(ctx context.Context, r storage.Request) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, r.Method, r.URL, nil)
	if err != nil {
		return nil, fault.New(fault.ErrInvalid, "http", "", "not a request")
	}
	if req.URL.Scheme != "http" && req.URL.Scheme != "https" || req.URL.Host == "" {
		return nil, fault.New(fault.ErrInvalid, "http", place(req.URL), "not an http or https URL")
	}
	if err := f.allow(req.URL); err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", f.userAgent)
	req.Header.Set("Accept-Encoding", "identity")
	for _, field := range r.Header {
		req.Header.Set(field.Name, field.Value)
	}
	return req, nil
}

// receive reads the body, and takes a packing off that nobody asked for.
func receive(res *http.Response, out *storage.Response, limit int64) error {
	packed := res.StatusCode == http.StatusOK && strings.EqualFold(res.Header.Get("Content-Encoding"), "gzip")
	if !packed {
		if res.ContentLength > limit {
			out.Truncated = true
			return nil
		}
		var err error
		out.Body, out.Truncated, err = readBody(res.Body, res.ContentLength, limit)
		return err
	}
	z, err := gzip.NewReader(res.Body)
	if err != nil {
		return errors.New("the answer calls itself gzip and is not: " + err.Error())
	}
	if out.Body, out.Truncated, err = readBody(z, -1, limit); err != nil {
		return err
	}
	res.Header.Del("Content-Encoding")
	res.Header.Del("Content-Length")
	return nil
}

// trusted is how much memory a length is given before its bytes came.
const trusted = 16 << 20

// readBody reads at most limit bytes of a body of n, or of unknown length if
// n < 0.
func readBody(body io.Reader, n, limit int64) (b []byte, truncated bool, err error) {
	if n >= 0 && n <= trusted {
		b = make([]byte, n)
		_, err = io.ReadFull(body, b)
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return b, false, err
	}
	var buf bytes.Buffer
	if limit < 1<<62 {
		body = io.LimitReader(body, limit+1)
	}
	if _, err = buf.ReadFrom(body); err != nil {
		return nil, false, err
	}
	b = buf.Bytes()
	if int64(len(b)) > limit {
		return b[:limit], true, nil
	}
	return b, false, nil
}

// failure names what was asked for without its query, which may be a secret.
func failure(ctx context.Context, item string, err error) error {
	if ended := storage.Ended(ctx, item); ended != nil {
		return ended
	}
	var known *fault.Error
	if errors.As(err, &known) {
		return known
	}
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err
	}
	return fault.New(fault.ErrIO, "http", item, err.Error())
}

func place(u *url.URL) string { return u.Scheme + "://" + u.Host + u.EscapedPath() }
