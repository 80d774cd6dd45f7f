package storage

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/gridhold/gridhold/sdk/fault"
)

// request makes one exchange and, where a clock allows it, tries again after
// what may pass: a broken line, 408, 425, 429 and most of 5xx, and an answer
// that check calls cut. Other statuses are check's to judge.
func (h *HTTP) request(ctx context.Context, key, method, span string, want Version, limit int64, check func(Response) error) error {
	r := Request{Method: method, URL: h.URL(key), Limit: limit}
	r.Header = append(r.Header, h.o.Header...)
	if span != "" {
		r.Header = append(r.Header, Field{"Range", "bytes=" + span})
	}
	if w, ok := wanted(want); ok && w.etag != "" && !h.o.NoConditions {
		r.Header = append(r.Header, Field{"If-Match", w.etag})
	}
	for try := 0; ; try++ {
		answer, err := h.exchange(ctx, key, r)
		if err == nil {
			if !transient(answer.Status) {
				err = check(answer)
			} else {
				err = &passing{refusal(key, answer, h.o.ForbiddenIsMissing)}
			}
		} else if ended := Ended(ctx, key); ended != nil {
			return ended
		} else if errors.Is(err, fault.ErrIO) {
			err = &passing{err}
		}
		var p *passing
		if !errors.As(err, &p) {
			return err
		}
		if h.o.Clock == nil || try >= h.o.Retries {
			return p.error
		}
		wait, ok := pause(try, answer.Get("Retry-After"), h.o.Clock.Now())
		if !ok {
			return p.error
		}
		began := h.o.Trace.Now()
		ended := h.o.Clock.Sleep(ctx, wait)
		h.o.Trace.Done(Waited, key, 0, began, nil)
		if ended != nil {
			return Ended(ctx, key)
		}
	}
}

// exchange makes a request when its turn has come.
func (h *HTTP) exchange(ctx context.Context, key string, r Request) (Response, error) {
	select {
	case h.turns <- struct{}{}:
	default:
		began := h.o.Trace.Now()
		select {
		case h.turns <- struct{}{}:
			h.o.Trace.Done(Waited, key, 0, began, nil)
		case <-ctx.Done():
			return Response{}, Ended(ctx, key)
		}
	}
	defer func() { <-h.turns }()
	began := h.o.Trace.Now()
	answer, err := h.fetcher.Fetch(ctx, r)
	h.o.Trace.Done(Requested, key, int64(len(answer.Body)), began, err)
	return answer, err
}

// passing is an error that another try may not meet.
type passing struct{ error }

// Waits before another try.
const (
	firstPause  = 100 * time.Millisecond
	longestWish = time.Minute
)

// pause is how long to wait before another try: twice as long each time, half
// of it by chance, so that clients that failed together do not come back
// together; or longer, if the server wishes so (RFC 9110, section 10.2.3). It
// is false for a wish that is not granted.
func pause(try int, after string, now time.Time) (time.Duration, bool) {
	d := firstPause << min(try, 6)
	d = d/2 + rand.N(d/2+1)
	if seconds, ok := parseDecimal(after); ok {
		d = max(d, time.Duration(min(seconds, 1<<31))*time.Second)
	} else if at, err := time.Parse("Mon, 02 Jan 2006 15:04:05 GMT", after); err == nil {
		d = max(d, at.Sub(now))
	}
	return d, d <= longestWish
}

func transient(status int) bool {
	switch status {
	case 408, 425, 429, 500, 502, 503, 504:
		return true
	}
	return status > 505
}

// refusal is the error of a status that brought no bytes.
func refusal(key string, r Response, forbiddenIsMissing bool) error {
	kind := fault.ErrIO
	switch {
	case r.Status == 404, r.Status == 410, r.Status == 403 && forbiddenIsMissing:
		kind = fault.ErrNotFound
	case r.Status == 401, r.Status == 403, r.Status == 407, r.Status == 451:
		kind = fault.ErrNotAllowed
	case r.Status == 412:
		kind = fault.ErrStale
	}
	return fault.New(kind, "http", key, "status "+strconv.Itoa(r.Status))
}

// explicit reads a range with Off >= 0, to the end if Len < 0. Where the server
// ignores ranges it reads the object whole, or without mayWhole is errWhole.
func (h *HTTP) explicit(ctx context.Context, key string, r Range, want Version, mayWhole bool) (answer, error) {
	span := ""
	switch {
	case r.Len >= 0:
		span = strconv.FormatInt(r.Off, 10) + "-" + strconv.FormatInt(r.Off+r.Len-1, 10)
	case r.Off > 0:
		span = strconv.FormatInt(r.Off, 10) + "-"
	}
	limit := h.o.BodyLimit
	if r.Len >= 0 {
		limit = min(limit, r.Len)
	}
	if mayWhole && h.noRange.Load() {
		limit = max(limit, h.o.WholeLimit)
	}
	a, err := h.span(ctx, key, span, r, want, limit)
	if err == errWhole && !mayWhole {
		return a, err
	}
	if err == errWhole && limit < h.o.WholeLimit {
		a, err = h.span(ctx, key, span, r, want, h.o.WholeLimit)
	}
	if err == errWhole {
		err = fault.New(fault.ErrUnsupported, "http", key, "the server ignores ranges, and the object is too large to be read whole")
	}
	return a, err
}

// errWhole: a range was answered with a whole object that is larger than the
// limit of the request.
var errWhole = errors.New("range ignored")

// span makes the request of an explicit range. It learns whether ranges work.
func (h *HTTP) span(ctx context.Context, key, span string, r Range, want Version, limit int64) (a answer, err error) {
	err = h.request(ctx, key, "GET", span, want, limit, func(res Response) (err error) {
		switch {
		case res.Status == 206 && span != "":
			h.noRange.Store(false)
			a, err = partial(key, res, r)
		case res.Status == 200 && span != "":
			h.noRange.Store(true)
			if a, err = whole(key, res); errors.Is(err, fault.ErrLimit) {
				err = errWhole
			}
		case res.Status == 200:
			a, err = whole(key, res)
		case res.Status == 416 && span != "":
			a, err = unsatisfied(key, res, r)
		default:
			err = refusal(key, res, h.o.ForbiddenIsMissing)
		}
		if err == nil {
			err = a.check(key, want)
		}
		return err
	})
	return a, err
}
