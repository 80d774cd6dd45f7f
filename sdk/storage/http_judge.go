package storage

import (
	"strconv"

	"github.com/gridhold/gridhold/sdk/fault"
)

// partial judges a 206 to an explicit range. It may be short only at the
// object's end.
func partial(key string, res Response, r Range) (answer, error) {
	if err := unencoded(key, res); err != nil {
		return answer{}, err
	}
	got := int64(len(res.Body))
	field := res.Get("Content-Range")
	if field == "" {
		// Hidden by cross-origin rules. A 206 has the range it was asked for,
		// cut only by the object's end.
		if res.Truncated || r.Len >= 0 && got > r.Len {
			return answer{}, wrongRange(key, r, strconv.FormatInt(got, 10)+" bytes or more")
		}
		return answer{body: res.Body, at: r.Off, validator: validatorOf(res, -1)}, nil
	}
	c, ok := parseContentRange(field)
	full := r.Len >= 0 && c.n == r.Len
	if !ok || c.n < 0 || c.off != r.Off || r.Len >= 0 && c.n > r.Len || !full && c.size >= 0 && c.off+c.n != c.size {
		return answer{}, wrongRange(key, r, field)
	}
	if res.Truncated && got < c.n {
		return answer{}, fault.New(fault.ErrLimit, "http", key, field+" is more than a body may have")
	}
	if got != c.n || res.Truncated {
		return answer{}, cut(key, r.Off+got, c.n, got)
	}
	return answer{body: res.Body, at: r.Off, validator: validatorOf(res, c.size)}, nil
}

// whole judges a 200. ErrLimit if the body is larger than was wanted.
func whole(key string, res Response) (answer, error) {
	if err := unencoded(key, res); err != nil {
		return answer{}, err
	}
	if res.Truncated {
		return answer{}, fault.New(fault.ErrLimit, "http", key, "the object is larger than was asked for")
	}
	return answer{body: res.Body, whole: true, validator: validatorOf(res, int64(len(res.Body)))}, nil
}

// unsatisfied judges a 416 to an explicit range: it lies beyond the end.
func unsatisfied(key string, res Response, r Range) (answer, error) {
	c, told := parseContentRange(res.Get("Content-Range"))
	switch {
	case told && c.n < 0 && r.Off >= c.size:
		return answer{at: c.size, validator: validatorOf(res, c.size)}, nil
	case told:
		return answer{}, wrongRange(key, r, "status 416, "+res.Get("Content-Range"))
	case r.Off == 0:
		return answer{validator: validatorOf(res, 0)}, nil // nothing else refuses the first byte
	}
	return answer{at: r.Off, validator: validatorOf(res, -1)}, nil
}

// unencoded refuses a body whose bytes are not the object's: one that is packed,
// by any of the fields that say so, or wrapped as several ranges.
func unencoded(key string, res Response) error {
	const several = "multipart/byteranges"
	for _, f := range res.Header {
		switch {
		case equalFold(f.Name, "Content-Encoding") && f.Value != "" && !equalFold(f.Value, "identity"):
			return fault.New(fault.ErrUnsupported, "http", key, "the answer is encoded ("+f.Value+"), so offsets in it mean nothing")
		case equalFold(f.Name, "Content-Type") && res.Status == 206 && len(f.Value) >= len(several) && equalFold(f.Value[:len(several)], several):
			return fault.New(fault.ErrUnsupported, "http", key, "the answer is wrapped as several ranges, and one was asked for")
		}
	}
	return nil
}

func wrongRange(key string, r Range, got string) error {
	asked := strconv.FormatInt(r.Off, 10) + "+" + strconv.FormatInt(r.Len, 10)
	return fault.New(fault.ErrIO, "http", key, "asked for "+asked+", got "+got)
}

func cut(key string, at, promised, got int64) error {
	return &passing{fault.At(fault.ErrIO, "http", key, at,
		"the body was cut: "+strconv.FormatInt(got, 10)+" of "+strconv.FormatInt(promised, 10)+" bytes")}
}
