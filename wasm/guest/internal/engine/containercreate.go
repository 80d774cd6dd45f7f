package engine

import (
	"context"
	"encoding/json"
	"math"
	"strconv"

	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/rawjson"
	"github.com/gridhold/gridhold/wasm/wire"
)

// creation is the request of container_create.
type creation struct {
	kind  string
	shape blosc2.Shape
	spec  blosc2.Spec
	store blosc2.StoreSpec
}

// parseCreate takes u32 length, JSON, data apart.
func (e *Engine) parseCreate(q *request, r *wire.Reader) fault.Code {
	text := r.Bytes(r.U32())
	if r.Bad() {
		return fault.CodeInvalid
	}
	q.data = append([]byte(nil), r.Rest()...)
	m := rawjson.MembersOf(text)
	c := &creation{kind: m.String("kind", "")}
	q.creation, q.container = c, &containerPlace{}
	if !q.container.parse(m) || !c.parse(m) {
		return fault.CodeInvalid
	}
	if n := len(q.data); n > 0 {
		data := q.data
		c.spec.Fill = func(ctx context.Context, made blosc2.Container) error {
			if a, ok := made.(*blosc2.NDArray); ok {
				return a.SetSlice(ctx, nil, data)
			}
			return made.(*blosc2.SChunk).Append(ctx, data)
		}
	}
	q.weight = add(e.memory/8, int64(len(q.data)))
	return 0
}

func (c *creation) parse(m *rawjson.Members) bool {
	ok := true
	c.shape = blosc2.Shape{Shape: ints(m, "shape", &ok), Chunks: ints(m, "chunks", &ok), Blocks: ints(m, "blocks", &ok), DType: m.String("dtype", "")}
	if c.shape.Shape == nil {
		c.shape.Shape = []int64{}
	}
	p := &c.spec.Params
	if name := m.String("codec", ""); name != "" {
		known := false
		if p.Codec, known = blosc.CodecNamed(name); !known {
			return false
		}
		p.Level = int(m.Int("level", 0, 9, 5))
		p.Filters = []blosc.Filter{}
	}
	for _, raw := range m.List("filters") {
		pair := intsOf(raw, &ok)
		if len(pair) != 2 || pair[0] < 0 || pair[0] > 255 || pair[1] < 0 || pair[1] > 255 {
			return false
		}
		p.Filters = append(p.Filters, blosc.Filter{ID: blosc.FilterID(pair[0]), Meta: byte(pair[1])})
	}
	p.TypeSize = int(m.Int("typesize", 0, math.MaxInt32, 0))
	p.BlockSize = int(m.Int("blocksize", 0, math.MaxInt32, 0))
	p.Split, p.Dictionary = blosc.Split(m.Int("split", 0, 4, 0)), m.Bool("dictionary")
	c.spec.ChunkSize = int(m.Int("chunksize", 0, math.MaxInt32, 0))
	c.spec.Sparse, c.spec.Replace, c.spec.OrOpen = m.Bool("sparse"), m.Bool("replace"), m.Bool("or_open")
	c.spec.Checksums = m.Bool("checksums")
	c.store = blosc2.StoreSpec{Tree: c.kind == "treestore", Threshold: m.Int("threshold", math.MinInt64, math.MaxInt64, 0)}
	for _, raw := range m.List("meta") {
		pair := rawjson.MembersOf(raw)
		value, valid := unhex(pair.String("hex", ""))
		c.spec.Meta = append(c.spec.Meta, blosc2.Metalayer{Name: pair.String("name", ""), Value: value})
		ok = ok && valid && pair.Err() == nil
	}
	return ok && m.Err() == nil
}

// ints reads a list of integers; nil if there is none.
func ints(m *rawjson.Members, name string, ok *bool) []int64 {
	raw := m.Raw(name)
	if raw == nil {
		return nil
	}
	return intsOf(raw, ok)
}

func intsOf(raw json.RawMessage, ok *bool) []int64 {
	list, err := rawjson.List(raw)
	out := make([]int64, len(list))
	for i := 0; i < len(list) && err == nil; i++ {
		out[i], err = strconv.ParseInt(string(list[i]), 10, 64)
	}
	*ok = *ok && err == nil
	return out
}

// unhex reads bytes that are written as two digits each.
func unhex(text string) ([]byte, bool) {
	const digits = "0123456789abcdef"
	if len(text)%2 != 0 {
		return nil, false
	}
	b := make([]byte, len(text)/2)
	for i := range text {
		d := -1
		for k := range digits {
			if text[i] == digits[k] {
				d = k
			}
		}
		if d < 0 {
			return nil, false
		}
		b[i/2] = b[i/2]<<4 | byte(d)
	}
	return b, true
}

func (e *Engine) containerCreate(ctx context.Context, q *request) (answer, error) {
	c, p := q.creation, q.container
	p.o.Write = true
	fs, o := e.fileSystem(p.fs), e.containerOptions(p)
	var made blosc2.Container
	var err error
	switch c.kind {
	case "schunk":
		made, err = blosc2.CreateSChunk(ctx, fs, p.name, c.spec, o)
	case "ndarray":
		made, err = blosc2.CreateArray(ctx, fs, p.name, c.shape, c.spec, o)
	case "embedstore":
		made, err = blosc2.CreateEmbedStore(ctx, fs, p.name, o)
	case "dictstore", "treestore":
		made, err = blosc2.CreateStore(ctx, fs, p.name, c.store, o)
	default:
		err = fault.New(fault.ErrInvalid, "container", c.kind, "no such kind")
	}
	if err != nil {
		return answer{}, err
	}
	return e.containerAnswer(ctx, q, e.remember(&object{container: made}, p))
}
