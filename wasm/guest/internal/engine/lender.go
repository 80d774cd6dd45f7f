package engine

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/gridhold/gridhold/sdk/codec"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/rawjson"
)

// lender is the codecs that the host lends. Each configuration is opened
// once.
type lender struct {
	engine *Engine

	mu   sync.Mutex
	open map[string]codec.Bytes // nil: the host has none of this kind
}

// BytesCodec implements [zarr.CodecSource].
func (l *lender) BytesCodec(name string, configuration json.RawMessage) (codec.Bytes, error) {
	var w rawjson.Writer
	w.Open('{')
	w.Name("name").String(name)
	if len(configuration) > 0 {
		w.Name("configuration").Raw(configuration)
	}
	w.Close('}')
	config := w.Bytes()
	l.mu.Lock()
	c, known := l.open[string(config)]
	l.mu.Unlock()
	if !known {
		// Two that ask at once both open; the last one stays. No lock is
		// held across an import.
		var err error
		if c, err = l.borrow(name, configuration, config); err != nil {
			return nil, err
		}
		l.mu.Lock()
		if l.open == nil {
			l.open = map[string]codec.Bytes{}
		}
		l.open[string(config)] = c
		l.mu.Unlock()
	}
	if c == nil {
		return nil, fault.ErrUnsupported
	}
	return c, nil
}

// borrow asks the host; nil, nil where it has no such codec. What the guest
// does not know is not asked for: a codec is lent to be faster, not to know
// more. Nor is what may share memory with its input, as checksums do: it
// costs less than the crossing, and the host could not do the same.
func (l *lender) borrow(name string, configuration json.RawMessage, config []byte) (codec.Bytes, error) {
	own, err := codec.New(name, configuration)
	switch {
	case errors.Is(err, fault.ErrUnsupported):
		return nil, nil
	case err != nil:
		return nil, err
	case !codec.Copies(own):
		return nil, nil
	}
	w, err := l.engine.take()
	if err != nil {
		return nil, err
	}
	defer l.engine.tokens.put(w)
	c := &CodecOpenCall{Config: config}
	w.rare = c
	n, err := l.engine.settle(context.Background(), w, l.engine.host.CodecOpen(w.token, c))
	switch {
	case err != nil:
		return nil, err
	case fault.Code(n) == fault.CodeUnsupported:
		return nil, nil
	case n < 0:
		return nil, l.engine.failure(w, n, "codec", name)
	}
	return &lent{Bytes: own, engine: l.engine, id: c.Info.ID, least: int(min(c.Info.MinLen, 1<<30))}, nil
}

// lent is a codec of the host's, with the guest's own for what is too small
// to be worth the crossing, or what the host gives back.
type lent struct {
	codec.Bytes
	engine *Engine
	id     uint32
	least  int // bytes of output
}

// Copies says that what is decoded never shares memory with its input.
func (c *lent) Copies() bool { return true }

// Decode implements [codec.Bytes].
func (c *lent) Decode(ctx context.Context, dst, src []byte, limit int) ([]byte, error) {
	if limit < c.least || limit == 0 {
		return c.Bytes.Decode(ctx, dst, src, limit)
	}
	n := len(dst)
	if cap(dst)-n < limit {
		grown := make([]byte, n, n+limit)
		copy(grown, dst)
		dst = grown
	}
	w, err := c.engine.take()
	if err != nil {
		return nil, err
	}
	defer c.engine.tokens.put(w)
	w.borrowed = true
	w.codec.ID, w.codec.Src, w.codec.Dst = c.id, src, dst[n:n+limit]
	m, err := c.engine.settle(ctx, w, c.engine.host.Codec(w.token, &w.codec))
	switch {
	case err != nil:
		return nil, err
	case fault.Code(m) == fault.CodeUnsupported:
		return c.Bytes.Decode(ctx, dst[:n], src, limit)
	case m < 0:
		return nil, c.engine.failure(w, m, "codec", c.Name())
	case int(m) > limit:
		return nil, invalid("codec", c.Name(), "more bytes than there was room for")
	}
	return dst[:n+int(m)], nil
}
