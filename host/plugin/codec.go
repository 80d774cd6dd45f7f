package plugin

import (
	"context"
	"encoding/json"
	"math"
	"strconv"

	"github.com/gridhold/gridhold/sdk/codec"
	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/fault"
)

// BytesCodec implements [zarr.CodecSource]: the plugin's codec of a name, for
// a configuration that it judges when it is used.
func (p *Plugin) BytesCodec(name string, configuration json.RawMessage) (codec.Bytes, error) {
	for i, c := range p.about.Codecs {
		for _, n := range c.Names {
			if n != name {
				continue
			}
			b := &bytesCodec{plugin: p, number: i, name: name, configuration: append([]byte(nil), configuration...)}
			if c.Encodes {
				return encoder{b}, nil
			}
			return b, nil
		}
	}
	return nil, p.fail(fault.ErrUnsupported, "has no codec "+strconv.Quote(name))
}

// Blosc returns the plugin's codecs by the numbers that Blosc2 has for them.
// Each is told the chunk's header as JSON: {"typesize", "blocksize", "meta"}.
func (p *Plugin) Blosc() blosc.Plugins {
	out := blosc.Plugins{Codecs: map[blosc.Codec]func(dst, src []byte, h blosc.Header) error{}}
	for i, c := range p.about.Codecs {
		if c.Blosc2 == 0 {
			continue
		}
		out.Codecs[blosc.Codec(c.Blosc2)] = func(dst, src []byte, h blosc.Header) error {
			configuration := `{"typesize":` + itoa(h.TypeSize) + `,"blocksize":` + itoa(h.BlockSize) + `,"meta":` + itoa(int(h.CodecMeta)) + `}`
			b := &bytesCodec{plugin: p, number: i, name: "blosc2 " + itoa(c.Blosc2), configuration: []byte(configuration)}
			n, err := b.run(context.Background(), "gp_decode", dst, src)
			switch {
			case fault.CodeOf(err) == fault.CodeTooSmall:
				return p.fail(fault.ErrCorrupt, "a stream decodes to more than its part of the block")
			case err == nil && n != len(dst):
				return p.fail(fault.ErrCorrupt, "a stream decodes to "+itoa(n)+" bytes, want "+itoa(len(dst)))
			}
			return err
		}
	}
	return out
}

// bytesCodec is a codec with its configuration.
type bytesCodec struct {
	plugin        *Plugin
	number        int // in About.Codecs
	name          string
	configuration []byte
}

// Name implements [codec.Bytes].
func (b *bytesCodec) Name() string { return b.name }

// Copies says that what is decoded never shares memory with its input.
func (b *bytesCodec) Copies() bool { return true }

// EncodedSize implements [codec.Bytes].
func (b *bytesCodec) EncodedSize(n int64) (int64, bool) {
	c := b.plugin.about.Codecs[b.number]
	if c.Times == 0 {
		c.Times, c.Plus = 2, 1<<16
	}
	if n > (math.MaxInt64-c.Plus)/c.Times {
		return math.MaxInt64, false
	}
	return c.Times*n + c.Plus, false
}

// Decode implements [codec.Bytes].
func (b *bytesCodec) Decode(ctx context.Context, dst, src []byte, limit int) ([]byte, error) {
	return b.appendTo(ctx, "gp_decode", dst, src, limit)
}

func (b *bytesCodec) appendTo(ctx context.Context, export string, dst, src []byte, limit int) ([]byte, error) {
	n := len(dst)
	if cap(dst)-n < limit {
		// Not more than the plugin could fill.
		limit = int(min(int64(limit), b.plugin.o.Memory))
		grown := make([]byte, n, n+limit)
		copy(grown, dst)
		dst = grown
	}
	m, err := b.run(ctx, export, dst[n:n+limit], src)
	if fault.CodeOf(err) == fault.CodeTooSmall {
		err = b.plugin.fail(fault.ErrLimit, b.name+": more than "+itoa(limit)+" bytes")
	}
	if err != nil {
		return nil, err
	}
	return dst[:n+m], nil
}

// run fills dst from src, and returns how much of it: ErrTooSmall if that
// is not enough.
func (b *bytesCodec) run(ctx context.Context, export string, dst, src []byte) (n int, err error) {
	err = b.plugin.within(ctx, source{}, func(in *instance) error {
		at, err := in.alloc(part{bytes: b.configuration}, part{bytes: src}, part{room: len(dst)})
		if err != nil {
			return err
		}
		m, err := in.invoke(export, uint32(b.number), at[0], uint32(len(b.configuration)), at[1], uint32(len(src)), at[2], uint32(len(dst)))
		if err != nil {
			return err
		}
		if err := in.answer(m); err != nil {
			return err
		}
		if n = int(m); n > len(dst) {
			return in.misbehaved(fault.ErrInternal, "says that it filled "+itoa(n)+" of "+itoa(len(dst))+" bytes")
		}
		out, ok := in.window(at[2], uint32(n))
		if !ok {
			return in.misbehaved(fault.ErrInternal, "its memory went away")
		}
		copy(dst, out) // a copy: the instance will write there again
		return nil
	})
	return n, err
}

// encoder is a codec that packs too.
type encoder struct{ *bytesCodec }

// Encode implements [codec.Encoder].
func (e encoder) Encode(dst, src []byte) ([]byte, error) {
	most, _ := e.EncodedSize(int64(len(src)))
	return e.appendTo(context.Background(), "gp_encode", dst, src, int(min(most, math.MaxInt32)))
}
