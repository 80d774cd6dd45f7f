package storage

import (
	"context"
	"errors"
	"strconv"

	"github.com/gridhold/gridhold/sdk/fault"
)

// errNoSuffix: the server did not answer a suffix as one.
var errNoSuffix = errors.New("no suffix ranges")

// suffix reads the last n > 0 bytes: by a suffix range as long as the server
// is not known to do without, else by its size.
func (h *HTTP) suffix(ctx context.Context, key string, n int64, want Version) (answer, error) {
	size, asked := int64(-1), false
	if !h.o.NoSuffix {
		works, settle, err := h.server.trySuffix(ctx, key)
		if err != nil {
			return answer{}, err
		}
		defer settle()
		if works {
			a, err := h.suffixRange(ctx, key, n, want)
			if err != errNoSuffix {
				return a, err
			}
			size, asked = a.size, true
		}
	}
	var seen validator
	if size < 0 {
		var err error
		if seen, err = h.size(ctx, key); err != nil {
			return answer{}, err
		}
		size = seen.size
	}
	if asked && size >= n {
		h.server.noSuffix.Store(true) // it should have worked
	}
	if size < 0 {
		return answer{}, fault.New(fault.ErrUnsupported, "http", key, "the server tells no size and takes no suffix ranges")
	}
	a := answer{at: size, validator: validator{seen.etag, seen.modified, size}}
	if size == 0 {
		return a, a.check(key, want)
	}
	off := max(size-n, 0)
	tail, err := h.explicit(ctx, key, Range{off, size - off}, want, true)
	if err != nil {
		return tail, err
	}
	if tail.contradicts(a.validator) || tail.at+int64(len(tail.body)) != size {
		if want != "" {
			return tail, Stale(key)
		}
		return tail, errMixed // it grew or was replaced in between
	}
	tail.validator = tail.and(a.validator)
	return tail, nil
}

// suffixRange asks for "bytes=-n". With errNoSuffix the answer has the size
// of the object if it was told.
func (h *HTTP) suffixRange(ctx context.Context, key string, n int64, want Version) (a answer, err error) {
	err = h.request(ctx, key, "GET", "-"+strconv.FormatInt(n, 10), want, min(h.o.BodyLimit, n), func(res Response) (err error) {
		a = answer{validator: validator{size: -1}}
		switch res.Status {
		case 206:
			a, err = suffixPart(key, res, n)
		case 200:
			// Right if the whole object is no more than was asked for.
			if a, err = whole(key, res); errors.Is(err, fault.ErrLimit) {
				a.size, err = contentLength(res), errNoSuffix
			}
		case 416:
			if c, ok := parseContentRange(res.Get("Content-Range")); ok && c.n < 0 {
				a.size = c.size
			}
			err = errNoSuffix
		case 400, 405, 406, 501:
			err = errNoSuffix
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

// suffixPart judges a 206 to a suffix range.
func suffixPart(key string, res Response, n int64) (answer, error) {
	if err := unencoded(key, res); err != nil {
		return answer{}, err
	}
	got := int64(len(res.Body))
	field := res.Get("Content-Range")
	if field == "" {
		if got == n && !res.Truncated {
			// Hidden by cross-origin rules, but nothing else is so long. Where
			// it lies is not known; callers of a suffix do not need that.
			return answer{body: res.Body, validator: validatorOf(res, -1)}, nil
		}
		return answer{validator: validator{size: -1}}, errNoSuffix
	}
	c, ok := parseContentRange(field)
	if ok && c.n >= 0 && c.size < 0 {
		return answer{validator: validator{size: -1}}, errNoSuffix // nothing says that the object ends there
	}
	if !ok || c.n < 0 || c.n != min(n, c.size) || c.off != c.size-c.n {
		return answer{}, wrongRange(key, Suffix(n), field)
	}
	if got != c.n || res.Truncated {
		return answer{}, cut(key, c.off+got, c.n, got)
	}
	return answer{body: res.Body, at: c.off, validator: validatorOf(res, c.size)}, nil
}

// probe sees whether there is an object, and its state.
func (h *HTTP) probe(ctx context.Context, key string, want Version) (answer, error) {
	v, err := h.size(ctx, key)
	a := answer{validator: v}
	if err == nil {
		err = a.check(key, want)
	}
	return a, err
}

// size asks for the state of an object with its size: by HEAD, or by its
// first byte where HEAD is refused or tells no length.
func (h *HTTP) size(ctx context.Context, key string) (v validator, err error) {
	if !h.server.noHead.Load() {
		refused := false
		err = h.request(ctx, key, "HEAD", "", "", 0, func(res Response) error {
			switch res.Status {
			case 200, 204:
				v = validatorOf(res, -1)
				if unencoded(key, res) == nil {
					v.size = contentLength(res)
				}
				return nil
			case 400, 401, 403, 405, 501:
				refused = true
				return nil
			}
			return refusal(key, res, h.o.ForbiddenIsMissing)
		})
		if err != nil || v.size >= 0 && !refused {
			return v, err
		}
	}
	a, err := h.explicit(ctx, key, Range{0, 1}, "", true)
	if err == nil {
		h.server.noHead.Store(true)
	}
	return a.validator, err
}

// contentLength is -1 where the field is missing or no number.
func contentLength(r Response) int64 {
	if n, ok := parseDecimal(r.Get("Content-Length")); ok {
		return n
	}
	return -1
}
