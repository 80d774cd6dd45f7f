package storage

import "context"

// Request is one HTTP request.
type Request struct {
	Method string // "GET", "HEAD"
	URL    string // absolute, escaped
	Header []Field
	// Limit is the largest body that is wanted, in bytes. A host stops
	// reading beyond it and answers with Truncated set; where it knows the
	// length beforehand it need not begin.
	Limit int64
}

// Response is what came back. Any status is a response, not an error.
type Response struct {
	Status    int
	Header    []Field
	Body      []byte
	Truncated bool // the body was longer than Request.Limit
}

// Field is one header field.
type Field struct{ Name, Value string }

// Fetcher makes one HTTP exchange, nothing clever: no retries, no cache, no
// redirects to another scheme but from http to https, and to another origin
// none with the caller's credentials. An error (ErrIO, ErrCancelled) means that no
// response came, or not all of the body.
//
// It asks for no Content-Encoding. If an answer has one all the same, the
// host may unpack the body of a 200, and then leaves the fields
// Content-Encoding and Content-Length out; it never unpacks a 206.
type Fetcher interface {
	Fetch(ctx context.Context, r Request) (Response, error)
}

// Get returns the value of a header field, whatever the case of its name; ""
// if there is none.
func (r Response) Get(name string) string {
	for _, f := range r.Header {
		if equalFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}

func equalFold(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := 0; i < len(a); i++ {
		x, y := a[i], b[i]
		if 'A' <= x && x <= 'Z' {
			x += 'a' - 'A'
		}
		if 'A' <= y && y <= 'Z' {
			y += 'a' - 'A'
		}
		if x != y {
			return false
		}
	}
	return true
}
