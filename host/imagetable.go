package host

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"math"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/wasm/wire"
)

// ReadTable reads the table of images of that name in a file system, as
// [image.ReadTable] does: each is called for every row, in order; title is the
// name that stands in errors. The guest reads the table in parts, and each time from its beginning, so that each
// of them has some hundred thousand rows: see Config.Memory.
func (s *Sandbox) ReadTable(ctx context.Context, fs storage.FS, name, title string, o image.TableOptions, each func(image.TableRow) error) (image.TableInfo, error) {
	return s.readTable(ctx, &Images{sandbox: s, fs: fs}, name, title, o, each)
}

// ReadTableObject is ReadTable of an object of a store.
func (s *Sandbox) ReadTableObject(ctx context.Context, st storage.Store, key, title string, o image.TableOptions, each func(image.TableRow) error) (image.TableInfo, error) {
	return s.readTable(ctx, &Images{sandbox: s, store: st}, key, title, o, each)
}

func (s *Sandbox) readTable(ctx context.Context, where *Images, name, title string, o image.TableOptions, each func(image.TableRow) error) (info image.TableInfo, err error) {
	at, free, err := where.place()
	if err != nil {
		return info, err
	}
	defer free()
	for first := int64(0); ; {
		p, err := s.tablePart(ctx, at, name, title, o, first)
		if err != nil {
			return info, err
		}
		for i := range p.n {
			r, ok := p.row(i)
			if !ok {
				return info, internal("answers a row that cannot be")
			}
			r.Row = first + i
			if err := each(r); err != nil {
				return info, err
			}
		}
		first += p.n
		if p.End {
			return p.info(), nil
		}
		if p.Failure != nil {
			return info, p.Failure.Err()
		}
		if p.n == 0 {
			return info, internal("answers no rows")
		}
	}
}

// tablePart asks for the rows from one on.
func (s *Sandbox) tablePart(ctx context.Context, at imagePlace, name, title string, o image.TableOptions, first int64) (*tablePart, error) {
	req, err := json.Marshal(struct {
		imagePlace
		Key    string `json:"key"`
		Title  string `json:"title"`
		Column string `json:"column,omitempty"`
		Clean  bool   `json:"clean,omitempty"`
		First  int64  `json:"first"`
	}{at, name, title, o.Column, o.Clean, first})
	if err != nil {
		return nil, fault.New(fault.ErrInvalid, "sandbox", "", err.Error())
	}
	in, err := s.take(ctx)
	if err != nil {
		return nil, err
	}
	defer s.put(in)
	r, err := in.do(ctx, wire.KindTableRead, req, nil)
	if err != nil {
		return nil, err
	}
	return parseTablePart(r.bytes)
}

// tablePart is gh_rows.
type tablePart struct {
	End     bool
	Keys    []string
	Failure *fault.Detail
	Kind    image.TableKind
	Block   string
	Rows    int64
	Groups  []struct {
		Group     int64
		Name      string
		PixelSize float64 `json:"pixel_size"`
	}

	n      int64
	packed []byte
}

func parseTablePart(b []byte) (*tablePart, error) {
	if len(b) < 8 {
		return nil, internal("answers rows that are cut")
	}
	n, rows := uint64(u32(b, 0)), uint64(u32(b, 4))
	start := (8 + n + 7) &^ 7
	if uint64(len(b)) != start+rows*wire.RowSize {
		return nil, internal("answers rows that are cut")
	}
	p := &tablePart{n: int64(rows), packed: b[start:]}
	if json.Unmarshal(b[8:8+n], p) != nil {
		return nil, internal("answers rows with what is not JSON")
	}
	return p, nil
}

func (p *tablePart) row(i int64) (r image.TableRow, ok bool) {
	b := p.packed[i*wire.RowSize:]
	key := u32(b, 40)
	if uint64(key) >= uint64(len(p.Keys)) {
		return r, false
	}
	r.Key, r.Index, r.Line, r.Group = p.Keys[key], i64(b, 0), i64(b, 8), i64(b, 16)
	r.PixelSize, r.UID = math.Float64frombits(uint64(i64(b, 24))), binary.LittleEndian.Uint64(b[32:])
	return r, true
}

func (p *tablePart) info() image.TableInfo {
	info := image.TableInfo{Kind: p.Kind, Block: p.Block, Rows: p.Rows}
	for _, g := range p.Groups {
		if info.Groups == nil {
			info.Groups = map[int64]image.OpticsGroup{}
		}
		info.Groups[g.Group] = image.OpticsGroup{Name: g.Name, PixelSize: g.PixelSize}
	}
	return info
}
