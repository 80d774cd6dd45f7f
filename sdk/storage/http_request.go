package storage

import (
	"context"
	"errors"
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
		answer, err := h.fetcher.Fetch(ctx, r)
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
		if h.o.Clock.Sleep(ctx, pause(try, answer.Get("Retry-After"))) != nil {
			return Ended(ctx, key)
		}
	}
}

// passing is an error that another try may not meet.
type passing struct{ error }

// pause doubles from 100 ms; a server's own wish is granted up to 10 s.
func pause(try int, after string) time.Duration {
	d := 100 * time.Millisecond << min(try, 6)
	if seconds, ok := parseDecimal(after); ok {
		d = max(d, time.Duration(min(seconds, 10))*time.Second)
	}
	return d
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

// explicit reads a range with Off >= 0, to the end if Len < 0.
func (h *HTTP) explicit(ctx context.Context, key string, r Range, want Version) (answer, error) {
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
	if h.noRange.Load() {
		limit = max(limit, h.o.WholeLimit)
	}
	a, err := h.span(ctx, key, span, r, want, limit)
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
