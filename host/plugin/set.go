package plugin

import (
	"encoding/json"
	"errors"
	"path"
	"strconv"

	"github.com/gridhold/gridhold/sdk/codec"
	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/fault"
)

// Set is plugins that are asked one after the other. It is a [zarr.CodecSource].
type Set []*Plugin

// BytesCodec implements [zarr.CodecSource].
func (s Set) BytesCodec(name string, configuration json.RawMessage) (codec.Bytes, error) {
	for _, p := range s {
		if b, err := p.BytesCodec(name, configuration); err == nil {
			return b, nil
		}
	}
	return nil, fault.New(fault.ErrUnsupported, "plugin", strconv.Quote(name), "no plugin has this codec")
}

// Blosc is what all of them have for Blosc2; the first one that has a number keeps it.
func (s Set) Blosc() blosc.Plugins {
	var all blosc.Plugins
	for _, p := range s {
		for number, f := range p.Blosc().Codecs {
			if all.Codecs == nil {
				all.Codecs = map[blosc.Codec]func(dst, src []byte, h blosc.Header) error{}
			}
			if all.Codecs[number] == nil {
				all.Codecs[number] = f
			}
		}
	}
	return all
}

// Reader is the first plugin whose reader is for a key; nil: none.
func (s Set) Reader(key string) *Plugin {
	for _, p := range s {
		if p.Reads(key) {
			return p
		}
	}
	return nil
}

// Close closes all of them.
func (s Set) Close() error {
	var err error
	for _, p := range s {
		err = errors.Join(err, p.Close())
	}
	return err
}

// Reads reports whether the plugin has a reader for a key, by its suffix.
func (p *Plugin) Reads(key string) bool {
	if p.about.Reader == nil {
		return false
	}
	for _, s := range p.about.Reader.Suffixes {
		if base := path.Base(key); len(base) > len(s) && base[len(base)-len(s):] == s {
			return true
		}
	}
	return false
}
