package plugin

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/gridhold/gridhold/sdk/codec"
	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/fault"
)

// About is what a plugin says of itself, once, when it is opened.
type About struct {
	Name    string   `json:"name"`
	Version string   `json:"version"`
	Codecs  []Codec  `json:"codecs"`
	Reader  *Reading `json:"reader,omitempty"`
}

// Codec is one codec of a plugin's.
type Codec struct {
	Names   []string `json:"names"`             // in the metadata of Zarr, v3 and v2
	Blosc2  int      `json:"blosc2,omitempty"`  // number in Blosc2, 32 to 255; 0: none
	Encodes bool     `json:"encodes,omitempty"` // it packs as well
	// N bytes are packed into at most Times*N + Plus; Times 0: 2*N + 65536.
	Times  int64        `json:"times,omitempty"`
	Plus   int64        `json:"plus,omitempty"`
	Sample *CodecSample `json:"sample,omitempty"`
}

// CodecSample is what a self-test unpacks.
type CodecSample struct {
	Configuration json.RawMessage `json:"configuration,omitempty"`
	Encoded       []byte          `json:"encoded"` // base64 in the text
	Decoded       []byte          `json:"decoded"`
}

// Reading is what a plugin's reader is for.
type Reading struct {
	Suffixes []string      `json:"suffixes"` // of keys, with the dot
	Sample   *ReaderSample `json:"sample,omitempty"`
}

// ReaderSample is what a self-test opens.
type ReaderSample struct {
	Key    string `json:"key"`
	Object []byte `json:"object"`
}

const (
	maxAbout = 1 << 20
	maxNames = 64
)

// introduce asks the plugin what it is.
func (p *Plugin) introduce(ctx context.Context) error {
	var text []byte
	err := p.within(ctx, source{}, func(in *instance) error {
		b, err := in.bytesFrom("gp_about", maxAbout)
		text = append(text, b...)
		return err
	})
	if err != nil {
		return err
	}
	var a About
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(&a); err != nil {
		return p.fail(fault.ErrCorrupt, "its description: "+legible([]byte(err.Error())))
	}
	if err := p.check(a); err != nil {
		return err
	}
	p.about = a
	return nil
}

// check compares a description with the exports, and names with what is built in.
func (p *Plugin) check(a About) error {
	bad := func(why string) error { return p.fail(fault.ErrCorrupt, "its description: "+why) }
	if !proper(a.Name) || a.Version != "" && !proper(a.Version) {
		return bad("no proper name or version")
	}
	if len(a.Codecs) > maxNames || (len(a.Codecs) > 0) != p.contract.has("gp_decode") || (a.Reader != nil) != p.contract.has("gp_describe") {
		return bad("what it names is not what it exports")
	}
	numbers := map[int]bool{}
	names := map[string]bool{}
	for _, c := range a.Codecs {
		if len(c.Names) == 0 && c.Blosc2 == 0 || len(c.Names) > maxNames || c.Encodes && !p.contract.has("gp_encode") {
			return bad("a codec without a name, or an export")
		}
		if c.Times < 0 || c.Times > 64 || c.Plus < 0 || c.Plus > 1<<20 {
			return bad("a codec that packs into too much")
		}
		for _, name := range c.Names {
			if !proper(name) || names[name] {
				return bad("a codec without a proper name of its own")
			}
			names[name] = true
			if isBuiltIn(name) {
				return p.fail(fault.ErrExists, "the codec "+strconv.Quote(name)+" is built in")
			}
		}
		if c.Blosc2 != 0 {
			if c.Blosc2 <= int(blosc.Zstd) || c.Blosc2 > 255 || numbers[c.Blosc2] {
				return bad("a number that is no plugin's in Blosc2")
			}
			numbers[c.Blosc2] = true
		}
	}
	if a.Reader == nil {
		return nil
	}
	if len(a.Reader.Suffixes) == 0 || len(a.Reader.Suffixes) > maxNames {
		return bad("a reader of nothing")
	}
	for _, s := range a.Reader.Suffixes {
		if !proper(s) || !strings.HasPrefix(s, ".") {
			return bad("a suffix without a dot")
		}
	}
	return nil
}

// proper reports whether s may stand where people read it.
func proper(s string) bool {
	return s != "" && len(s) <= 128 && strings.Trim(s, " ") == s && legible([]byte(s)) == s
}

// isBuiltIn reports whether the SDK has a codec of a name, which a plugin
// does not take from it.
func isBuiltIn(name string) bool {
	switch name {
	case "bytes", "sharding_indexed", "transpose", "vlen-utf8", "vlen-bytes", "packbits":
		return true
	}
	for _, find := range []func(string, json.RawMessage) (codec.Bytes, error){codec.New, codec.NewV2} {
		if _, err := find(name, nil); fault.CodeOf(err) != fault.CodeUnsupported {
			return true
		}
	}
	_, err := codec.NewElements(name, nil, "<f4")
	return fault.CodeOf(err) != fault.CodeUnsupported
}
