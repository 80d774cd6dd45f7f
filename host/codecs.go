package host

import (
	"encoding/binary"
	"encoding/json"
	"sync"

	"github.com/gridhold/gridhold/sdk/codec"
	"github.com/gridhold/gridhold/sdk/fault"
)

// codecs is what the host lends: its own build of the same decoders, on the
// guest's memory. They decode some ten times as fast as the guest does, so
// that every size is worth the crossing.
type codecs struct {
	mu    sync.RWMutex
	list  []codec.Bytes // by number, from 1
	named map[string]uint32
}

// lend gives a codec its number. There is one of a name for all arrays: its
// configuration is about encoding.
func (cs *codecs) lend(name string, made codec.Bytes) uint32 {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if id := cs.named[name]; id != 0 {
		return id
	}
	if cs.named == nil {
		cs.named = map[string]uint32{}
	}
	cs.list = append(cs.list, made)
	cs.named[name] = uint32(len(cs.list))
	return cs.named[name]
}

// lendable are the codecs that are worth lending; a checksum is as quickly
// checked in the guest.
var lendable = map[string]bool{"zstd": true, "gzip": true}

// codecOpen is the import codec_open.
func codecOpen(c *callContext, args []uint64) (int32, error) {
	in := c.in
	config, err := in.window(args[1], args[2])
	if err != nil {
		return 0, err
	}
	info, err := in.window(args[3], infoSize)
	if err != nil {
		return 0, err
	}
	var named struct {
		Name          string          `json:"name"`
		Configuration json.RawMessage `json:"configuration"`
	}
	if json.Unmarshal(config, &named) != nil || !lendable[named.Name] || in.sandbox.config.Strict {
		return int32(fault.CodeUnsupported), nil
	}
	made, err := codec.New(named.Name, named.Configuration)
	if err != nil {
		return 0, err
	}
	binary.LittleEndian.PutUint32(info[176:], in.sandbox.codecs.lend(named.Name, made))
	binary.LittleEndian.PutUint32(info[180:], 0) // any size
	return 0, nil
}

// decode is the import codec.
func decode(c *callContext, args []uint64) (int32, error) {
	in := c.in
	id, op := uint32(args[1]), uint32(args[2])
	cs := &in.sandbox.codecs
	cs.mu.RLock()
	var lent codec.Bytes
	if id > 0 && int(id) <= len(cs.list) {
		lent = cs.list[id-1]
	}
	cs.mu.RUnlock()
	if lent == nil || op != 0 {
		return int32(fault.CodeUnsupported), nil
	}
	src, err := in.window(args[3], args[4])
	if err != nil {
		return 0, err
	}
	dst, err := in.window(args[5], args[6])
	if err != nil {
		return 0, err
	}
	out, err := lent.Decode(c.Context, dst[:0], src, len(dst))
	if err != nil {
		return 0, err
	}
	if len(out) > 0 && &out[0] != &dst[0] {
		copy(dst, out)
	}
	return int32(len(out)), nil
}
