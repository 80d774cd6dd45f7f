package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

const (
	firstRead = 4 << 20  // bytes of one version that a request gets in one read
	piece     = 1 << 20  // bytes that are read at once after that
	wholeRead = 64 << 20 // bytes of an object whose size the store does not tell
	maxRanges = 256      // of one request
)

// object answers GET and HEAD of a key. Ranges and conditions are the
// standard library's, over content.
func (h *Handler) object(w http.ResponseWriter, r *http.Request, key string) {
	wanted := r.Header.Get("Range")
	if strings.Count(wanted, ",") >= maxRanges {
		http.Error(w, "more than "+strconv.Itoa(maxRanges)+" ranges", http.StatusRequestedRangeNotSatisfiable)
		return
	}
	var first []storage.Range
	if r.Method == http.MethodGet {
		first = firstRanges(wanted)
	}
	c, err := h.content(r.Context(), key, first)
	if err != nil {
		h.refuse(w, r, key, err)
		return
	}
	header := w.Header()
	header.Set("Content-Type", typeOf(key))
	// Browsers put what they keep of an object together with what they get
	// anew, and fail where it was written to in between.
	header.Set("Cache-Control", "no-store")
	if t := tag(c.info.Version); t != "" {
		header.Set("ETag", t)
	}
	if wanted != "" && (c.info.Size == 0 || !strings.HasPrefix(wanted, "bytes=")) {
		// No Content-Range can say "nothing of nothing", as the last bytes of
		// an empty object are; other units are as if they were not there.
		r = r.Clone(r.Context())
		r.Header.Del("Range")
	} else if something := withoutNothing(wanted, c.info.Size); something != wanted {
		r = r.Clone(r.Context())
		r.Header.Set("Range", something)
	}
	http.ServeContent(h.steady(w), r, "", time.Time{}, c)
	if c.broken.Load() {
		panic(http.ErrAbortHandler) // the client has to see that this is not all
	}
}

// withoutNothing is a Range field in which the last 0 bytes, which cannot be had
// (RFC 9110, section 14.1.2), are what is behind the end: the standard library
// answers those with bytes that end before they begin.
func withoutNothing(field string, size int64) string {
	specs := strings.Split(strings.TrimPrefix(field, "bytes="), ",")
	for i, spec := range specs {
		if digits, ok := strings.CutPrefix(strings.TrimSpace(spec), "-"); ok && digits != "" && strings.Trim(digits, "0") == "" {
			specs[i] = strconv.FormatInt(size, 10) + "-"
		}
	}
	return "bytes=" + strings.Join(specs, ",")
}

// typeOf is never one that a browser would run: what lies in a directory of
// data may be somebody else's.
func typeOf(key string) string {
	if strings.HasSuffix(key, ".json") {
		return "application/json"
	}
	return "application/octet-stream"
}

// content reads an object of one version. It is an io.ReadSeeker of one
// reader.
type content struct {
	ctx   context.Context
	store storage.Store
	key   string
	info  storage.ObjectInfo
	parts []part // what was read so far and may be read again
	at    int64

	broken atomic.Bool // a read failed, perhaps of several ranges, which the standard library reads on a goroutine of its own
}

type part struct {
	off  int64
	data []byte
}

// content opens an object and reads of it what will be wanted first, in the
// call that gives its version: an object that is written to all the time has
// no two calls of one version.
func (h *Handler) content(ctx context.Context, key string, first []storage.Range) (*content, error) {
	bs, info, err := h.store.ReadRanges(ctx, key, first, "")
	if err != nil {
		return nil, err
	}
	c := &content{ctx: ctx, store: h.store, key: key, info: info}
	if info.Size < 0 {
		whole, info, err := storage.ReadAll(ctx, h.store, key, wholeRead)
		if err != nil {
			return nil, err
		}
		info.Size = int64(len(whole))
		c.info, c.parts = info, []part{{0, whole}}
		return c, nil
	}
	for i, b := range bs {
		off, _ := first[i].Resolve(info.Size)
		c.parts = append(c.parts, part{off, b})
	}
	return c, nil
}

// firstRanges are the bytes that a Range field asks for, as far as the first
// read goes; without one, the beginning. Whether the field makes sense is
// judged later: what does not is as good as none here.
func firstRanges(field string) []storage.Range {
	beginning := []storage.Range{{Off: 0, Len: firstRead}}
	list, ok := strings.CutPrefix(field, "bytes=")
	if !ok {
		return beginning
	}
	var rs []storage.Range
	room := int64(firstRead)
	for _, spec := range strings.Split(list, ",") {
		from, to, ok := strings.Cut(strings.TrimSpace(spec), "-")
		a, errA := strconv.ParseUint(from, 10, 63)
		b, errB := strconv.ParseUint(to, 10, 63)
		r := storage.Range{Off: int64(a), Len: room}
		switch {
		case !ok:
			return beginning
		case from == "" && errB == nil:
			r = storage.Suffix(int64(b)) // all or nothing: where it begins is not known yet
		case errA == nil && errB == nil && b >= a:
			r.Len = min(room, int64(b-a)+1)
		case errA != nil || to != "":
			return beginning
		}
		if r.Len <= room && r.Off <= 1<<62 {
			rs, room = append(rs, r), room-r.Len
		}
	}
	return rs
}

// Read is io.Reader's.
func (c *content) Read(p []byte) (int, error) {
	if c.at >= c.info.Size {
		return 0, io.EOF
	}
	for _, part := range c.parts {
		if c.at >= part.off && c.at < part.off+int64(len(part.data)) {
			n := copy(p, part.data[c.at-part.off:])
			c.at += int64(n)
			return n, nil
		}
	}
	buf := make([]byte, min(piece, c.info.Size-c.at))
	n, _, err := storage.ReadInto(c.ctx, c.store, c.key, c.at, buf, c.info.Version)
	if err == nil && n == 0 {
		err = fault.New(fault.ErrIO, "http", c.key, "it has become shorter")
	}
	if err != nil {
		c.broken.Store(true)
		return 0, err
	}
	c.parts = []part{{c.at, buf[:n]}} // the reader goes on, not back
	return c.Read(p)
}

// Seek is io.Seeker's.
func (c *content) Seek(off int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		off += c.at
	case io.SeekEnd:
		off += c.info.Size
	}
	if off < 0 {
		return 0, errors.New("before the beginning")
	}
	c.at = off
	return off, nil
}

// steady is an answer whose client has to take something of it now and then.
type steady struct {
	http.ResponseWriter
	control *http.ResponseController
	stall   time.Duration
}

func (h *Handler) steady(w http.ResponseWriter) *steady {
	return &steady{w, http.NewResponseController(w), h.o.Stall}
}

func (s *steady) Write(b []byte) (int, error) {
	_ = s.control.SetWriteDeadline(time.Now().Add(s.stall)) // where there is a connection
	return s.ResponseWriter.Write(b)
}
