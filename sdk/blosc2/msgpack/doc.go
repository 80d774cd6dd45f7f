// Package msgpack reads and writes MessagePack, as far as metadata of Blosc2
// containers needs it: whole values in memory, bounded by their bytes.
//
// A value is nil, a bool, int64, uint64 (only above the largest int64),
// float64, string, []byte, []any, [Map] or [Ext].
//
// Format: https://github.com/msgpack/msgpack/blob/master/spec.md
package msgpack

// Map is a map in the order of its bytes. Keys may be any value and may
// repeat.
type Map []Entry

// Entry is one key of a Map and its value.
type Entry struct{ Key, Value any }

// Ext is a value of a type that applications define. python-blosc2 has 42
// (an embedded frame), 43 (a reference), 44 (a complex number), 45 (a set)
// and 46 (a NumPy array).
type Ext struct {
	Type int8
	Data []byte
}

// Get returns the value of the last entry with that key; ok is false if
// there is none.
func (m Map) Get(key string) (v any, ok bool) {
	for i := len(m) - 1; i >= 0; i-- {
		if m[i].Key == key {
			return m[i].Value, true
		}
	}
	return nil, false
}
