package storagetest

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/md5"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// Quirks are the ways in which servers differ from the book.
type Quirks struct {
	IgnoreSuffix   bool // bytes=-n is answered 200 with all
	RefuseSuffix   int  // or with this status
	IgnoreRange    bool // any range is answered 200 with all
	RefuseHead     int  // the status of every HEAD
	HeadNoLength   bool // HEAD tells no Content-Length
	HideRange      bool // no Content-Range, as cross-origin rules hide it
	NoTotal        bool // Content-Range ends with "/*"
	NoTag          bool // no ETag
	MD5Tag         bool // the ETag is the MD5 of the object
	WeakTag        bool
	NoDate         bool // no Last-Modified
	IgnoreIfMatch  bool
	ShiftRange     int64  // the range that comes, and that Content-Range names, begins so much later
	Gzip           bool   // every body is packed, ranges are of the packed bytes
	GzipName       bool   // Content-Encoding says gzip, which is not true
	Status         int    // of every answer; 0: as it should be
	RetryAfter     string // with Status
	Times          int    // how many answers have Status or CutBy; 0: all
	CutBy          int    // bytes that are missing at the end of each body, unnoticed by the transport
	BreakLine      bool   // with Times: the line breaks instead
	LengthlessBody bool   // no Content-Length on bodies
}

// Origin is a web server in memory, as a Fetcher: what a storage.HTTP is
// tested against. Safe for concurrent use, but set Quirks before.
type Origin struct {
	Quirks Quirks

	mu       sync.Mutex
	objects  map[string]hosted // by path, unescaped
	requests []storage.Request
	puts     int
}

type hosted struct {
	data []byte
	put  int
}

// NewOrigin returns a server of the objects; their URLs are
// "http://origin/base/" and the escaped key.
func NewOrigin(objects map[string][]byte) *Origin {
	o := &Origin{objects: map[string]hosted{}}
	for key, data := range objects {
		o.Put(key, data)
	}
	return o
}

// OriginURL is where the objects of an Origin are.
const OriginURL = "http://origin/base"

// Put replaces an object; its ETag and its date change.
func (o *Origin) Put(key string, data []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.puts++
	o.objects["/base/"+key] = hosted{bytes.Clone(data), o.puts}
}

// Requests returns what was asked since the last Reset: "GET key", "GET key
// bytes=0-9", "HEAD key".
func (o *Origin) Requests() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	list := make([]string, len(o.requests))
	for i, r := range o.requests {
		key, _ := unescape(strings.TrimPrefix(r.URL, OriginURL+"/"))
		list[i] = strings.TrimSpace(r.Method + " " + key + " " + header(r, "Range"))
	}
	return list
}

// Limits returns how long a body was wanted at most by each of the Requests.
func (o *Origin) Limits() []int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	limits := make([]int64, len(o.requests))
	for i, r := range o.requests {
		limits[i] = r.Limit
	}
	return limits
}

// Last returns the last request.
func (o *Origin) Last() storage.Request {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.requests[len(o.requests)-1]
}

// Reset forgets the requests.
func (o *Origin) Reset() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.requests = nil
}

// Fetch is Fetcher's.
func (o *Origin) Fetch(ctx context.Context, r storage.Request) (storage.Response, error) {
	if err := storage.Ended(ctx, r.URL); err != nil {
		return storage.Response{}, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.requests = append(o.requests, r)
	q := &o.Quirks
	odd := (q.Status != 0 || q.BreakLine || q.CutBy > 0) && (q.Times == 0 || len(o.requests) <= q.Times)
	if odd && q.BreakLine {
		return storage.Response{}, fault.New(fault.ErrIO, "http", r.URL, "connection reset")
	}
	res := storage.Response{Status: q.Status}
	if !odd || q.CutBy > 0 {
		res = o.answer(r)
	} else if q.RetryAfter != "" {
		res.Header = append(res.Header, storage.Field{Name: "retry-after", Value: q.RetryAfter})
	}
	if r.Method == "HEAD" {
		res.Body = nil
	}
	if odd && q.CutBy > 0 {
		res.Body = res.Body[:max(len(res.Body)-q.CutBy, 0)]
	}
	if int64(len(res.Body)) > r.Limit {
		res.Body, res.Truncated = res.Body[:r.Limit], true
	}
	res.Body = bytes.Clone(res.Body)
	return res, nil
}

func (o *Origin) answer(r storage.Request) (res storage.Response) {
	q := &o.Quirks
	set := func(name, value string) {
		res.Header = append(res.Header, storage.Field{Name: strings.ToLower(name), Value: value})
	}
	path, query, _ := strings.Cut(strings.TrimPrefix(r.URL, "http://origin"), "?")
	path, ok := unescape(path)
	object, found := o.objects[path]
	if !ok || strings.ContainsAny(query, "#") || !found {
		res.Status = 404
		return res
	}
	if r.Method == "HEAD" && q.RefuseHead != 0 {
		res.Status = q.RefuseHead
		return res
	}
	tag := strconv.Quote("v" + strconv.Itoa(object.put))
	if q.MD5Tag {
		sum := md5.Sum(object.data)
		tag = strconv.Quote(hex.EncodeToString(sum[:]))
	}
	switch {
	case q.WeakTag:
		set("ETag", "W/"+tag)
	case !q.NoTag:
		set("ETag", tag)
	}
	if !q.NoDate {
		set("Last-Modified", "Sun, 0"+strconv.Itoa(object.put%9)+" Nov 2026 00:00:00 GMT")
	}
	if m := header(r, "If-Match"); m != "" && m != tag && !q.IgnoreIfMatch {
		res.Status = 412
		return res
	}
	body := object.data
	if q.Gzip {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		z.Write(body)
		z.Close()
		body = b.Bytes()
	}
	if q.Gzip || q.GzipName {
		set("Content-Encoding", "gzip")
	}
	size := int64(len(body))
	res.Status = 200
	span, ranged := strings.CutPrefix(header(r, "Range"), "bytes=")
	suffix := strings.HasPrefix(span, "-")
	if ranged && suffix && q.RefuseSuffix != 0 {
		res.Status = q.RefuseSuffix
		return res
	}
	if ranged && !q.IgnoreRange && !(suffix && q.IgnoreSuffix) {
		from, to, ok := parseSpan(span, size)
		if !ok {
			res.Status = 416
			if !q.HideRange {
				set("Content-Range", "bytes */"+strconv.FormatInt(size, 10))
			}
			return res
		}
		from, to = min(from+q.ShiftRange, size-1), min(to+q.ShiftRange, size)
		res.Status = 206
		body = body[from:to]
		if !q.HideRange {
			total := strconv.FormatInt(size, 10)
			if q.NoTotal {
				total = "*"
			}
			set("Content-Range", "bytes "+strconv.FormatInt(from, 10)+"-"+strconv.FormatInt(to-1, 10)+"/"+total)
		}
	}
	if !(q.HeadNoLength && r.Method == "HEAD") && !q.LengthlessBody {
		set("Content-Length", strconv.Itoa(len(body)))
	}
	res.Body = body
	return res
}

// parseSpan reads "a-b", "a-" or "-n".
func parseSpan(span string, size int64) (from, to int64, ok bool) {
	first, last, _ := strings.Cut(span, "-")
	if first == "" {
		n, err := strconv.ParseInt(last, 10, 64)
		return max(size-n, 0), size, err == nil && n > 0 && size > 0
	}
	from, err := strconv.ParseInt(first, 10, 64)
	to = size
	if err == nil && last != "" {
		to, err = strconv.ParseInt(last, 10, 64)
		to = min(to, size-1) + 1
	}
	return from, to, err == nil && from < size && from < to
}

func header(r storage.Request, name string) string {
	i := slices.IndexFunc(r.Header, func(f storage.Field) bool { return strings.EqualFold(f.Name, name) })
	if i < 0 {
		return ""
	}
	return r.Header[i].Value
}

func unescape(s string) (string, bool) {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b = append(b, s[i])
			continue
		}
		if i+3 > len(s) {
			return "", false
		}
		n, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
		if err != nil {
			return "", false
		}
		b = append(b, byte(n))
		i += 2
	}
	return string(b), true
}
