package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/rawjson"
	"github.com/gridhold/gridhold/wasm/wire"
)

// tableRead reads rows of a table of images. It reads the table from its
// beginning and ends early when it has them, or when they are as many as an
// answer holds. A row that is damaged does not take those before it along.
func (e *Engine) tableRead(ctx context.Context, p *picturesRequest) (_ answer, err error) {
	f, err := e.content(ctx, &p.files, p.key)
	if err != nil {
		return answer{}, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	rows := rowsOf{first: p.first, most: min(p.count, max(1, e.memory/16/wire.RowSize)), places: map[string]uint32{}}
	text := io.NewSectionReader(f, 0, math.MaxInt64)
	rows.info, rows.failure = image.ReadTable(ctx, text, p.title, p.table, func(r image.TableRow) error {
		if r.Row&0xfff == 0 {
			if err := ctx.Err(); err != nil {
				return fault.New(fault.ErrCancelled, "table", p.title, "")
			}
		}
		return rows.add(r)
	})
	if rows.ended = rows.failure == nil; errors.Is(rows.failure, errEnough) {
		rows.failure = nil
	}
	if errors.Is(rows.failure, fault.ErrCancelled) {
		return answer{}, rows.failure
	}
	return answer{kind: wire.Bytes, bytes: rows.pack()}, nil
}

// errEnough ends a table before its end.
var errEnough = errors.New("enough")

// rowsOf is the answer of table_read.
type rowsOf struct {
	first, most int64
	info        image.TableInfo
	ended       bool // nothing is left behind the rows
	failure     error
	keys        []string
	places      map[string]uint32 // of keys
	n           int64
	packed      []byte
}

func (s *rowsOf) add(r image.TableRow) error {
	if s.n == s.most {
		return errEnough
	}
	if r.Row < s.first {
		return nil
	}
	place, ok := s.places[r.Key]
	if !ok {
		place = uint32(len(s.keys))
		key := strings.Clone(r.Key)
		s.places[key], s.keys = place, append(s.keys, key)
	}
	le := binary.LittleEndian
	b := s.packed
	b = le.AppendUint64(b, uint64(r.Index))
	b = le.AppendUint64(b, uint64(r.Line))
	b = le.AppendUint64(b, uint64(r.Group))
	b = le.AppendUint64(b, math.Float64bits(r.PixelSize))
	b = le.AppendUint64(b, r.UID)
	s.packed = le.AppendUint32(le.AppendUint32(b, place), 0)
	s.n++
	return nil
}

// pack makes gh_rows.
func (s *rowsOf) pack() []byte {
	text := rawjson.Marshal(s)
	b := make([]byte, 0, 8+len(text)+8+len(s.packed))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(text)))
	b = binary.LittleEndian.AppendUint32(b, uint32(s.n))
	b = append(b, text...)
	for len(b)%8 != 0 {
		b = append(b, 0)
	}
	return append(b, s.packed...)
}

// WriteJSON implements [rawjson.Value].
func (s *rowsOf) WriteJSON(w *rawjson.Writer) {
	w.Open('{')
	w.Name("end").Bool(s.ended)
	writeNames(w.Name("keys"), s.keys)
	if s.failure != nil {
		fault.DetailOf(s.failure).WriteJSON(w.Name("failure"))
	}
	if s.ended {
		w.Name("kind").String(string(s.info.Kind))
		w.Name("block").String(s.info.Block)
		w.Name("rows").Int(s.info.Rows)
		var numbers []int64
		for n := range s.info.Groups {
			numbers = append(numbers, n)
		}
		slices.Sort(numbers)
		w.Name("groups").Open('[')
		for _, n := range numbers {
			g := s.info.Groups[n]
			w.Open('{')
			w.Name("group").Int(n)
			w.Name("name").String(g.Name)
			w.Name("pixel_size").Float(g.PixelSize)
			w.Close('}')
		}
		w.Close(']')
	}
	w.Close('}')
}
