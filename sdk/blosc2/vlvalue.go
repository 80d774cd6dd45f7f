package blosc2

import (
	"bytes"
	"sync"

	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/fault"
)

// values are those of a view's variable-length metalayers that were decoded:
// small ones, because they are looked up again and again.
type values struct {
	mu   sync.RWMutex
	kept map[string][]byte
	size int
}

const (
	keptValue  = 64 << 10 // bytes
	keptValues = 1 << 20  // of all of a view
)

func (k *values) get(name string) ([]byte, bool) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	b, ok := k.kept[name]
	return b, ok
}

func (k *values) put(name string, b []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(b) > keptValue || k.size+len(b) > keptValues {
		return
	}
	if k.kept == nil {
		k.kept = map[string][]byte{}
	}
	if _, ok := k.kept[name]; !ok {
		k.kept[name] = bytes.Clone(b)
		k.size += len(b)
	}
}

// vlvalue decodes the value of a variable-length metalayer.
func (v *view) vlvalue(name string, o Options) ([]byte, error) {
	if b, ok := v.values.get(name); ok {
		return bytes.Clone(b), nil
	}
	packed, ok := find(v.vlmeta, name)
	if !ok {
		return nil, fault.New(fault.ErrNotFound, "vlmeta", name, "")
	}
	c, err := blosc.Open(packed, blosc.Options{Limit: int(o.Limits.Meta), Plugins: o.Plugins})
	if err == nil && c.Header().PackedSize != len(packed) {
		err = corrupt(-1, "bytes after the chunk")
	}
	var value []byte
	if err == nil {
		value, err = c.Decode(nil)
	}
	if err != nil {
		return nil, &fault.Error{Format: "vlmeta", Item: name, Off: -1, Err: err}
	}
	v.values.put(name, value)
	return value, nil
}
