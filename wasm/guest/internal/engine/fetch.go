package engine

import (
	"context"
	"strings"
	"time"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/wasm/wire"
)

// answerRoom is what the header of an HTTP answer may take.
const answerRoom = 32 << 10

// fetcher is the host's HTTP.
type fetcher struct{ engine *Engine }

// Servers implements [storage.Learner].
func (f fetcher) Servers() *storage.Servers { return &f.engine.servers }

// Fetch implements [storage.Fetcher].
func (f fetcher) Fetch(ctx context.Context, r storage.Request) (storage.Response, error) {
	most := f.engine.memory / 4
	limit := max(r.Limit, 0)
	room := min(limit, most)
	if limit > sureRoom && !ranged(r) {
		room = min(room, sureRoom) // a limit against the absurd, not a length
	}
	for {
		resp, err := f.fetch(ctx, r, room)
		if err != nil || !resp.Truncated || room == limit {
			return resp, err
		}
		if room == most {
			return storage.Response{}, fault.New(fault.ErrLimit, "http", r.URL, "larger than the memory allows")
		}
		room = min(limit, most)
	}
}

// ranged says whether r asks for a part of an object, whose length then is
// its limit.
func ranged(r storage.Request) bool {
	for _, h := range r.Header {
		if strings.EqualFold(h.Name, "Range") {
			return true
		}
	}
	return false
}

func (f fetcher) fetch(ctx context.Context, r storage.Request, room int64) (storage.Response, error) {
	w, err := f.engine.take()
	if err != nil {
		return storage.Response{}, err
	}
	defer f.engine.tokens.put(w)
	var header []byte
	for _, h := range r.Header {
		if strings.ContainsAny(h.Name, "\r\n:") || strings.ContainsAny(h.Value, "\r\n") {
			return storage.Response{}, fault.New(fault.ErrInvalid, "http", h.Name, "not a header field")
		}
		header = append(append(append(append(header, h.Name...), ": "...), h.Value...), "\r\n"...)
	}
	c := &FetchCall{}
	w.rare = c
	c.Method, c.URL, c.Header = []byte(r.Method), []byte(r.URL), header
	c.Body, c.Answer = make([]byte, room), make([]byte, answerRoom)
	n, err := f.engine.settle(ctx, w, f.engine.host.Fetch(w.token, c))
	switch {
	case err != nil:
		return storage.Response{}, storage.Ended(ctx, r.URL)
	case n < 0:
		return storage.Response{}, f.engine.failure(w, n, "http", r.URL)
	case int64(n) > room:
		return storage.Response{}, invalid("http", r.URL, "more bytes than there was room for")
	case c.Wire.AnswerLen > answerRoom:
		return storage.Response{}, invalid("http", r.URL, "a longer header than there was room for")
	}
	body := c.Body[:n:n]
	if int64(n) < room/2 {
		body = append([]byte(nil), body...)
	}
	return storage.Response{
		Status: int(c.Wire.Status), Header: fields(string(c.Answer[:c.Wire.AnswerLen])), Body: body,
		Truncated: c.Wire.Flags&wire.FetchCut != 0,
	}, nil
}

// fields parses lines "Name: value". A line without a colon is skipped.
func fields(text string) []storage.Field {
	var out []storage.Field
	for line := range strings.SplitSeq(text, "\r\n") {
		if name, value, ok := strings.Cut(line, ":"); ok {
			out = append(out, storage.Field{Name: strings.TrimSpace(name), Value: strings.TrimSpace(value)})
		}
	}
	return out
}

// clock is the host's time.
type clock struct{ engine *Engine }

// Now implements [storage.Clock].
func (clock) Now() time.Time { return time.Now() }

// Sleep implements [storage.Clock].
func (c clock) Sleep(ctx context.Context, d time.Duration) error {
	ms := (d + time.Millisecond - 1) / time.Millisecond
	if ms <= 0 {
		return ctx.Err()
	}
	w, err := c.engine.take()
	if err != nil {
		return err
	}
	defer c.engine.tokens.put(w)
	n, err := c.engine.settle(ctx, w, c.engine.host.Sleep(w.token, uint32(min(ms, 1<<31))))
	if err == nil && n < 0 {
		err = c.engine.failure(w, n, "clock", "")
	}
	return err
}
