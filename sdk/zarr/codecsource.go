package zarr

import (
	"encoding/json"
	"sync/atomic"

	"github.com/gridhold/gridhold/sdk/codec"
	"github.com/gridhold/gridhold/sdk/fault"
)

// CodecSource finds codecs by the names that metadata uses.
type CodecSource interface {
	// BytesCodec returns a codec for a configuration (nil if absent);
	// ErrUnsupported leaves the name to the built-in codecs.
	BytesCodec(name string, configuration json.RawMessage) (codec.Bytes, error)
}

// processCodecs is what UseCodecs set.
var processCodecs atomic.Pointer[CodecSource]

// UseCodecs makes a source of codecs known to every array that is opened in
// this process from now on; it is asked after Options.Codecs. nil: none. A
// later call replaces an earlier one.
func UseCodecs(s CodecSource) {
	if s == nil {
		processCodecs.Store(nil)
		return
	}
	processCodecs.Store(&s)
}

// callersCodec asks the caller's codecs: nil without an error if they do not
// know the name.
func (o Options) callersCodec(name string, configuration json.RawMessage) (codec.Bytes, error) {
	sources := []CodecSource{o.Codecs}
	if p := processCodecs.Load(); p != nil {
		sources = append(sources, *p)
	}
	for _, s := range sources {
		if s == nil {
			continue
		}
		b, err := s.BytesCodec(name, configuration)
		if err == nil || fault.CodeOf(err) != fault.CodeUnsupported {
			return b, err
		}
	}
	return nil, nil
}
