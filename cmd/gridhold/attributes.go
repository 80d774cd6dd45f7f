package main

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/blosc2/msgpack"
	"github.com/gridhold/gridhold/sdk/rawjson"
)

// metadataValues are the variable-length metalayers of a frame.
type metadataValues interface {
	names(ctx context.Context) ([]string, error)
	value(ctx context.Context, name string) ([]byte, error)
}

// attributesOf are the variable-length metalayers of a frame as a JSON object,
// which is what Zarr has for them.
func attributesOf(ctx context.Context, values metadataValues) (json.RawMessage, error) {
	names, err := values.names(ctx)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	var w rawjson.Writer
	w.Open('{')
	for _, name := range names {
		if name == blosc2.ChecksumLayer {
			continue
		}
		b, err := values.value(ctx, name)
		if err != nil {
			return nil, err
		}
		v, err := msgpack.Decode(b)
		if err != nil {
			return nil, err
		}
		msgpack.WriteJSON(w.Name(name), v)
	}
	w.Close('}')
	return w.Bytes(), nil
}

// setAttributes makes metalayers of a JSON object. ErrInvalid for names of
// more than 31 bytes, for which the format has no room.
func setAttributes(ctx context.Context, s *blosc2.SChunk, object json.RawMessage) error {
	if len(object) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(object))
	d.UseNumber()
	v, err := fromJSON(d)
	if err != nil {
		return err
	}
	attributes, _ := v.(msgpack.Map)
	for _, a := range attributes {
		if err := s.SetVLObject(ctx, a.Key.(string), a.Value); err != nil {
			return err
		}
	}
	return nil
}

// fromJSON reads a value, keeping the order of names.
func fromJSON(d *json.Decoder) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case json.Number:
		if n, err := t.Int64(); err == nil {
			return n, nil
		}
		return t.Float64()
	case json.Delim:
		if t == '[' {
			list := []any{}
			for d.More() {
				v, err := fromJSON(d)
				if err != nil {
					return nil, err
				}
				list = append(list, v)
			}
			_, err := d.Token()
			return list, err
		}
		m := msgpack.Map{}
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := fromJSON(d)
			if err != nil {
				return nil, err
			}
			m = append(m, msgpack.Entry{Key: name, Value: v})
		}
		_, err := d.Token()
		return m, err
	}
	return t, nil
}
