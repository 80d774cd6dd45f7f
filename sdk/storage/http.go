package storage

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gridhold/gridhold/sdk/fault"
)

// HTTPOptions of a store over HTTP. The zero value is the advice for
// programs; in a browser set NoSuffix and NoConditions.
type HTTPOptions struct {
	Header             []Field // sent with every request (credentials)
	NoSuffix           bool    // ask for the size and an explicit range: a cross-origin suffix costs a preflight
	NoConditions       bool    // send no If-Match, which costs a preflight too; versions are compared in the answers
	ForbiddenIsMissing bool    // 403 means that there is no object (S3 without the right to list)
	Gap                int64   // bytes between ranges that are rather read than asked around; 0: 32 KiB, < 0: none
	MaxMerged          int64   // bytes of a request made of several ranges; 0: 8 MiB
	WholeLimit         int64   // bytes of a body that is taken whole where the server ignores ranges; 0: 64 MiB
	BodyLimit          int64   // bytes of any body; 0: 2 GiB
	Parallel           int     // requests under way at once, of all calls of the store; 0: 32
	Clock              Clock   // waits before a request is tried again; nil: none is
	Retries            int     // after the first try; 0: 3
	Trace              Trace   // told of each request, and of each wait for its turn or before another try; nil: none
}

// HTTP is objects on a web server or in an object store. Safe for concurrent
// use.
//
// The version of an object is its strong ETag, or else Last-Modified with the
// size (which does not notice a second change within a second), or else "".
// Data of a wanted version is asked for with If-Match and compared as well.
//
// How a suffix range is best asked for is learned from the answers and
// remembered for the server: by the store, or by all stores over a Fetcher that
// is a Learner. While the first suffix range of all is out, others wait for
// what it teaches, so that a form that fails is tried once.
//
// What may pass is tried again, if there is a Clock, after a back-off that
// doubles from 100 ms, half of it by chance, or after what the server asks for
// (Retry-After). A server that wants more than a minute is not asked again.
//
// Errors: ErrNotFound for 404 and 410 alone (and 403 with
// ForbiddenIsMissing); ErrNotAllowed for 401 and 403; ErrStale for 412 or an
// answer of another version; ErrUnsupported for a server that ignores ranges
// on an object larger than WholeLimit, or encodes ranges; ErrLimit for a body
// larger than BodyLimit; ErrIO for any other
// status, a line that broke, and an answer that is not what was asked for.
type HTTP struct {
	fetcher     Fetcher
	base, query string
	o           HTTPOptions
	turns       chan struct{} // one for each request under way
	server      *server
	noRange     atomic.Bool // the last answer to a range was a whole object
}

// NewHTTP returns a store of the objects below baseURL. A query in baseURL (a
// signature) goes with every request.
func NewHTTP(f Fetcher, baseURL string, o HTTPOptions) *HTTP {
	baseURL, _, _ = strings.Cut(baseURL, "#")
	base, query, found := strings.Cut(baseURL, "?")
	if found {
		query = "?" + query
	}
	if o.Gap == 0 {
		o.Gap = 32 << 10
	}
	if o.MaxMerged == 0 {
		o.MaxMerged = 8 << 20
	}
	if o.WholeLimit == 0 {
		o.WholeLimit = 64 << 20
	}
	if o.BodyLimit == 0 {
		o.BodyLimit = 2 << 30
	}
	if o.Parallel <= 0 {
		o.Parallel = 32
	}
	if o.Retries == 0 {
		o.Retries = 3
	}
	h := &HTTP{fetcher: f, base: strings.TrimRight(base, "/") + "/", query: query, o: o}
	h.turns = make(chan struct{}, o.Parallel)
	var known *Servers
	if l, ok := f.(Learner); ok {
		known = l.Servers()
	}
	h.server = known.of(h.base)
	return h
}

// URL returns where the object of a key is.
func (h *HTTP) URL(key string) string { return h.base + EscapeKey(key) + h.query }

// Identity names the place: two stores of one URL are the same (Same).
func (h *HTTP) Identity() string { return h.base + h.query }

// errMixed: two answers to one call were of two versions.
var errMixed = errors.New("answers of several versions")

// ReadRanges is Store's. Neighbouring ranges go into one request, several
// requests are under way at once.
func (h *HTTP) ReadRanges(ctx context.Context, key string, rs []Range, want Version) ([][]byte, ObjectInfo, error) {
	if err := CheckRead(ctx, key, rs); err != nil {
		return nil, ObjectInfo{}, err
	}
	for range 3 {
		bs, info, err := h.readRanges(ctx, key, rs, want)
		if err != errMixed {
			return bs, info, err
		}
	}
	return nil, ObjectInfo{}, Stale(key)
}

func (h *HTTP) readRanges(ctx context.Context, key string, rs []Range, want Version) ([][]byte, ObjectInfo, error) {
	parts := h.plan(rs)
	if err := h.readParts(ctx, key, parts, want); err != nil {
		return nil, ObjectInfo{}, err
	}
	all := parts[0].validator
	for _, p := range parts[1:] {
		if all.contradicts(p.validator) {
			if want != "" {
				return nil, ObjectInfo{}, Stale(key)
			}
			return nil, ObjectInfo{}, errMixed
		}
		all = all.and(p.validator)
	}
	bs := make([][]byte, len(rs))
	for _, p := range parts {
		for _, i := range p.Members {
			bs[i] = p.take(rs[i], len(p.Members) == 1)
		}
	}
	for i := range bs {
		if bs[i] == nil {
			bs[i] = []byte{}
		}
	}
	info := ObjectInfo{Size: all.size, Version: all.version()}
	if want != "" {
		info.Version = want // nothing contradicted it
	}
	return bs, info, nil
}

// readParts makes the requests of a call. Where the server ignores ranges, each
// may bring the whole object: then one goes alone, and the others have its answer.
func (h *HTTP) readParts(ctx context.Context, key string, parts []part, want Version) error {
	alone := len(parts) == 1 || h.noRange.Load()
	if !alone {
		err := h.each(ctx, len(parts), func(ctx context.Context, i int) error { return h.readPart(ctx, key, &parts[i], want, false) })
		if err != errWhole {
			return err
		}
	}
	if err := h.readPart(ctx, key, &parts[0], want, true); err != nil {
		return err
	}
	rest := parts[1:]
	if parts[0].whole {
		for i := range rest {
			rest[i].answer = parts[0].answer
		}
		return nil
	}
	return h.each(ctx, len(rest), func(ctx context.Context, i int) error { return h.readPart(ctx, key, &rest[i], want, true) })
}

// readPart makes the request of a part. Without mayWhole an answer that is
// more than was asked for is errWhole.
func (h *HTTP) readPart(ctx context.Context, key string, p *part, want Version, mayWhole bool) (err error) {
	switch {
	case p.probe:
		p.answer, err = h.probe(ctx, key, want)
	case p.Off < 0:
		p.answer, err = h.suffix(ctx, key, p.Len, want)
	default:
		p.answer, err = h.explicit(ctx, key, p.Range, want, mayWhole)
	}
	return err
}

// part is one request of a call, or two where the size has to be asked for.
type part struct {
	Merged
	probe bool // for no bytes, only to see whether there is an object
	answer
}

// take returns the bytes of one range of the call. They are copied unless
// they are most of what nobody else uses.
func (p *part) take(r Range, only bool) []byte {
	switch {
	case r.Off < 0:
		r = Range{max(p.end()-r.Len, 0), r.Len}
	case r.Len < 0:
		r.Len = max(p.end()-r.Off, 0)
	}
	b := Slice(p.body, p.at, r)
	if only && !p.whole && len(b) >= len(p.body)/2 {
		return b
	}
	return append(make([]byte, 0, len(b)), b...)
}

// plan makes the requests of a call, at least one.
func (h *HTTP) plan(rs []Range) []part {
	var parts []part
	var explicit []Range
	var which []int
	longest := Merged{Range: Suffix(0)}
	for i, r := range rs {
		switch {
		case r.Len == 0: // no bytes
		case r.Off < 0:
			longest.Len = max(longest.Len, r.Len)
			longest.Members = append(longest.Members, i)
		case r.Len < 0:
			parts = append(parts, part{Merged: Merged{r, []int{i}}})
		default:
			explicit = append(explicit, r)
			which = append(which, i)
		}
	}
	if longest.Len > 0 {
		parts = append(parts, part{Merged: longest})
	}
	for _, m := range Coalesce(explicit, h.o.Gap, h.o.MaxMerged) {
		for j, i := range m.Members {
			m.Members[j] = which[i]
		}
		parts = append(parts, part{Merged: m})
	}
	if len(parts) == 0 {
		parts = append(parts, part{probe: true})
	}
	return parts
}

// each runs do(0) … do(n-1), several at once, and returns the first error,
// after which the others are cancelled.
func (h *HTTP) each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	if n == 1 {
		return do(ctx, 0)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	var once sync.Once
	var first error
	fail := func(err error) {
		once.Do(func() { first = err; cancel() })
	}
	var next atomic.Int64
	for range min(n, h.o.Parallel) {
		wg.Add(1)
		fault.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if err := do(ctx, i); err != nil {
					fail(err)
				}
			}
			wg.Done()
		}, func(err error) { fail(err); wg.Done() })
	}
	wg.Wait()
	if first == nil {
		return Ended(ctx, "")
	}
	return first
}
