package plugin

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
)

const (
	maxDescription = 1 << 20
	maxState       = 1 << 20
	maxRanges      = 4096
	firstBytes     = 4 << 10
)

// Array is an object of a foreign format as a Zarr array: a store that has
// the array at its root, and whose chunks are ranges of the object. It is
// read-only. An object that is replaced is ErrStale; open it again.
type Array struct {
	plugin *Plugin
	source source
	state  []byte // of the plugin's, handed back with each question
	text   []byte // zarr.json
	grid   []int64
}

// Array opens an object by the plugin's reader. ErrUnsupported: it has none,
// or the object is of a kind that it does not know; ErrCorrupt: the object is
// damaged, or what the plugin makes of it is no array; and the errors of the
// store, which is used until the last read.
func (p *Plugin) Array(ctx context.Context, store storage.Store, key string) (*Array, error) {
	if p.about.Reader == nil {
		return nil, p.fail(fault.ErrUnsupported, "has no reader")
	}
	bs, info, err := store.ReadRanges(ctx, key, []storage.Range{{Off: 0, Len: firstBytes}}, "")
	if err != nil {
		return nil, err
	}
	a := &Array{plugin: p, source: source{store: store, key: key, version: info.Version, first: bs[0], size: info.Size}}
	var described []byte
	err = p.within(ctx, a.source, func(in *instance) error {
		at, err := in.alloc(part{bytes: []byte(key)}, part{room: 16})
		if err != nil {
			return err
		}
		n, err := in.invoke("gp_describe", at[0], uint32(len(key)), uint32(info.Size), uint32(info.Size>>32), at[1])
		if err != nil {
			return err
		}
		if err := in.answer(n); err != nil {
			return err
		}
		text, err := in.written(at[1], maxDescription)
		if err != nil {
			return err
		}
		state, err := in.written(at[1]+8, maxState)
		described, a.state = append(described, text...), append(a.state, state...)
		return err
	})
	if err != nil {
		return nil, err
	}
	if a.text, err = p.metadata(described); err != nil {
		return nil, err
	}
	array, err := zarr.OpenArray(ctx, a, "", zarr.Options{Codecs: p})
	if err != nil {
		return nil, err
	}
	a.grid = array.ChunkGridShape()
	return a, nil
}

// described are the members of a zarr.json that a reader gives.
var described = []string{"shape", "data_type", "chunk_grid", "codecs", "fill_value", "attributes", "dimension_names"}

// metadata makes a zarr.json of what a reader described.
func (p *Plugin) metadata(text []byte) ([]byte, error) {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(text, &given); err != nil {
		return nil, p.fail(fault.ErrCorrupt, "its description of the array: "+legible([]byte(err.Error())))
	}
	for name := range given {
		if !slices.Contains(described, name) {
			return nil, p.fail(fault.ErrCorrupt, "describes the array with "+strconv.Quote(legible([]byte(name))))
		}
	}
	if given == nil {
		return nil, p.fail(fault.ErrCorrupt, "describes nothing")
	}
	given["zarr_format"] = json.RawMessage("3")
	given["node_type"] = json.RawMessage(`"array"`)
	given["chunk_key_encoding"] = json.RawMessage(`{"name":"default"}`)
	return json.Marshal(given)
}

// chunk is where the bytes of a chunk lie: one after the other in ranges of one object.
type chunk struct {
	key     string
	version storage.Version // of the object that was described; "": another one
	ranges  []storage.Range
	size    int64
}

// locate asks the plugin for a chunk: ErrNotFound if there is none.
func (a *Array) locate(ctx context.Context, key string) (c chunk, err error) {
	index, ok := a.index(key)
	if !ok {
		return c, storage.Absent(key)
	}
	packed := make([]byte, 0, 8*len(index))
	for _, x := range index {
		packed = binary.LittleEndian.AppendUint64(packed, uint64(x))
	}
	p := a.plugin
	err = p.within(ctx, a.source, func(in *instance) error {
		at, err := in.alloc(part{bytes: a.state}, part{bytes: packed}, part{room: 16})
		if err != nil {
			return err
		}
		n, err := in.invoke("gp_chunk", at[0], uint32(len(a.state)), at[1], uint32(len(index)), at[2])
		if err != nil {
			return err
		}
		if err := in.answer(n); err != nil {
			return err
		}
		ranges, err := in.written(at[2], 16*maxRanges)
		if err != nil {
			return err
		}
		name, err := in.written(at[2]+8, 1<<10)
		if err != nil {
			return err
		}
		c, err = a.checked(ranges, string(name))
		return err
	})
	if err == nil && len(c.ranges) == 0 {
		return c, storage.Absent(key)
	}
	return c, gone(key, err)
}

// gone turns "not found" into ErrStale: what the array was described from was
// there, and a chunk that is not is one of fill values.
func gone(key string, err error) error {
	if fault.CodeOf(err) == fault.CodeNotFound {
		return fault.New(fault.ErrStale, "plugin", key, "its object was removed")
	}
	return err
}

// checked makes a chunk of what a plugin answered.
func (a *Array) checked(ranges []byte, name string) (chunk, error) {
	c := chunk{key: a.source.key, version: a.source.version}
	size := a.source.size
	if name != "" && name != c.key {
		if !storage.ValidKey(name) || !a.plugin.o.Grants.Keys {
			return c, a.plugin.fail(fault.ErrNotAllowed, "a chunk in the object "+strconv.Quote(legible([]byte(name)))+", which it is not granted")
		}
		c.key, c.version, size = name, "", -1
	}
	if len(ranges)%16 != 0 {
		return c, a.plugin.fail(fault.ErrCorrupt, "half a range")
	}
	for ; len(ranges) > 0; ranges = ranges[16:] {
		off, n := int64(binary.LittleEndian.Uint64(ranges)), int64(binary.LittleEndian.Uint64(ranges[8:]))
		if off < 0 || n < 0 || off+n < 0 || size >= 0 && off+n > size || c.size+n < 0 {
			return c, &fault.Error{Format: "plugin", Item: a.plugin.name(), Off: off, Why: "a chunk outside its object", Err: fault.ErrCorrupt}
		}
		if n > 0 || len(c.ranges) == 0 {
			c.ranges = append(c.ranges, storage.Range{Off: off, Len: n})
			c.size += n
		}
	}
	return c, nil
}

// index takes the key of a chunk apart, "c/1/2" or "c"; ok is false for
// whatever else, and for what is not in the grid.
func (a *Array) index(key string) (index []int64, ok bool) {
	parts := strings.Split(key, "/")
	if parts[0] != "c" || len(parts) != len(a.grid)+1 {
		return nil, false
	}
	index = make([]int64, len(a.grid))
	for i, s := range parts[1:] {
		x, err := strconv.ParseInt(s, 10, 64)
		if err != nil || x < 0 || x >= a.grid[i] || strconv.FormatInt(x, 10) != s {
			return nil, false
		}
		index[i] = x
	}
	return index, true
}
