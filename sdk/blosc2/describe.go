package blosc2

import (
	"context"

	"github.com/gridhold/gridhold/sdk/blosc2/msgpack"
	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/rawjson"
)

// FrameDescription is what "gridhold info --json" prints of a frame. Sizes
// are in bytes.
type FrameDescription struct {
	Kind   string
	Header Header
	Shape  *Shape  // nil: not an array
	Chunks int64   // how many
	Dead   int64   // bytes that nothing leads to; -1: not counted, because that takes many reads
	Ratio  float64 // of decoded to stored bytes; 0: nothing is stored
	Meta   []Metadata
	VLMeta []Metadata
	Keys   []string // of an embedded store; nil: none
	// Checksums says whether those of the chunks hold; "": none are kept.
	Checksums string
}

// Metadata is a metalayer as an object; Raw instead where its bytes are no
// MessagePack.
type Metadata struct {
	Name   string
	Object any
	Raw    []byte
}

func metadata(name string, raw []byte) Metadata {
	object, err := msgpack.Decode(raw)
	if err != nil {
		return Metadata{Name: name, Raw: raw}
	}
	return Metadata{Name: name, Object: object}
}

// Describe returns a *FrameDescription. ErrCorrupt and ErrLimit for metadata
// that cannot be decoded.
func (s *SChunk) Describe(ctx context.Context) (rawjson.Value, error) {
	return s.describe(ctx, s.Kind())
}

// Describe returns a *FrameDescription.
func (a *NDArray) Describe(ctx context.Context) (rawjson.Value, error) {
	return a.s.describe(ctx, a.Kind())
}

// Describe returns a *FrameDescription, with the keys.
func (e *EmbedStore) Describe(ctx context.Context) (rawjson.Value, error) {
	d, err := e.s.describe(ctx, e.Kind())
	if err == nil {
		d.Keys, err = e.Keys(ctx)
	}
	return d, err
}

// fewChunks is how many headers of chunks a description reads.
const fewChunks = 1 << 14

func (s *SChunk) describe(ctx context.Context, kind string) (d *FrameDescription, err error) {
	err = s.f.read(ctx, func(v *view) error {
		d, err = v.describe(ctx, kind, s.f.o)
		return err
	})
	return d, err
}

func (v *view) describe(ctx context.Context, kind string, o Options) (*FrameDescription, error) {
	d := &FrameDescription{Kind: kind, Header: v.Header, Shape: v.shape, Chunks: v.chunks, Dead: -1}
	if v.where.fs != nil && v.chunks <= fewChunks {
		var err error
		if d.Dead, err = v.dead(ctx); err != nil {
			d.Dead = -1 // a damaged chunk: the rest is worth to be told
		}
	}
	if d.Header.BlockSize == 0 && v.first != nil {
		d.Header.BlockSize = v.first.BlockSize
	}
	if v.PackedSize > 0 {
		d.Ratio = float64(v.Size) / float64(v.PackedSize)
	}
	if kept, hold := v.summed(); hold {
		d.Checksums = "hold"
	} else if kept {
		d.Checksums = "stale"
	}
	for _, m := range v.meta {
		d.Meta = append(d.Meta, metadata(m.Name, m.Value))
	}
	for _, m := range v.vlmeta {
		if m.Name == ChecksumLayer {
			continue
		}
		raw, err := v.vlvalue(m.Name, o)
		if err != nil {
			return nil, err
		}
		d.VLMeta = append(d.VLMeta, metadata(m.Name, raw))
	}
	return d, nil
}

var splits = [...]string{"", "always", "never", "auto", "forward-compat"}

// WriteJSON implements [rawjson.Value].
func (d *FrameDescription) WriteJSON(w *rawjson.Writer) {
	h := &d.Header
	w.Open('{')
	w.Name("kind").String(d.Kind)
	if s := d.Shape; s != nil {
		w.Name("shape").Ints(s.Shape)
		w.Name("dtype").String(s.DType)
		w.Name("chunks").Ints(s.Chunks)
		w.Name("blocks").Ints(s.Blocks)
	}
	w.Name("typesize").Int(int64(h.TypeSize))
	w.Name("chunksize").Int(int64(h.ChunkSize))
	w.Name("blocksize").Int(int64(h.BlockSize))
	w.Name("nchunks").Int(d.Chunks)
	w.Name("nbytes").Int(h.Size)
	w.Name("cbytes").Int(h.PackedSize)
	if d.Dead >= 0 {
		w.Name("dead").Int(d.Dead)
	}
	w.Name("ratio").Float(d.Ratio)
	w.Name("contiguous").Bool(!h.Sparse)
	w.Name("codec").String(blosc.Codec(h.Codec).String())
	w.Name("codec_meta").Int(int64(h.CodecMeta))
	w.Name("level").Int(int64(h.Level))
	w.Name("split").String(splits[h.Split])
	w.Name("dictionaries").Bool(h.UseDict)
	w.Name("filters").Open('[')
	for i, id := range h.Filters {
		if id != 0 {
			w.Open('{')
			w.Name("name").String(blosc.FilterID(id).String())
			w.Name("id").Int(int64(id))
			w.Name("meta").Int(int64(h.FilterMetas[i]))
			w.Close('}')
		}
	}
	w.Close(']')
	if d.Checksums != "" {
		w.Name("checksums").String(d.Checksums)
	}
	writeMetadata(w.Name("metalayers"), d.Meta)
	writeMetadata(w.Name("vlmeta"), d.VLMeta)
	if d.Keys != nil {
		writeStrings(w.Name("keys"), d.Keys)
	}
	w.Close('}')
}

func writeMetadata(w *rawjson.Writer, list []Metadata) {
	w.Open('{')
	for _, m := range list {
		w.Name(m.Name)
		if m.Raw != nil {
			msgpack.WriteJSON(w, m.Raw)
		} else {
			msgpack.WriteJSON(w, m.Object)
		}
	}
	w.Close('}')
}

func writeStrings(w *rawjson.Writer, list []string) {
	w.Open('[')
	for _, s := range list {
		w.String(s)
	}
	w.Close(']')
}

// StoreDescription is what "gridhold info --json" prints of a store.
type StoreDescription struct {
	Kind   string
	Zip    bool // one file
	Keys   []string
	VLMeta []NodeMetadata // of a tree, by node
}

// NodeMetadata is the metadata of a node of a tree.
type NodeMetadata struct {
	Node   string
	VLMeta []Metadata
}

// Describe returns a *StoreDescription.
func (d *DictStore) Describe(ctx context.Context) (rawjson.Value, error) {
	keys, err := d.Keys(ctx)
	return &StoreDescription{Kind: d.Kind(), Zip: d.zip(), Keys: keys}, err
}

func (d *DictStore) zip() bool {
	_, ok := d.files.(*archive)
	return ok
}

// Describe returns a *StoreDescription.
func (t *TreeStore) Describe(ctx context.Context) (rawjson.Value, error) {
	keys, err := t.Keys(ctx)
	d := &StoreDescription{Kind: t.Kind(), Zip: t.d.zip(), Keys: keys, VLMeta: []NodeMetadata{}}
	for _, node := range append([]string{"/"}, keys...) {
		if err != nil {
			return nil, err
		}
		var m *SChunk
		if m, err = t.VLMeta(ctx, node); m != nil {
			var f *FrameDescription
			if f, err = m.describe(ctx, ""); err == nil {
				d.VLMeta = append(d.VLMeta, NodeMetadata{node, f.VLMeta})
			}
			m.Close()
		}
	}
	return d, err
}

// WriteJSON implements [rawjson.Value].
func (d *StoreDescription) WriteJSON(w *rawjson.Writer) {
	w.Open('{')
	w.Name("kind").String(d.Kind)
	w.Name("zip").Bool(d.Zip)
	writeStrings(w.Name("keys"), d.Keys)
	if d.VLMeta != nil {
		w.Name("vlmeta").Open('{')
		for _, n := range d.VLMeta {
			writeMetadata(w.Name(n.Node), n.VLMeta)
		}
		w.Close('}')
	}
	w.Close('}')
}
