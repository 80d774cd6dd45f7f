package zarr

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/rawjson"
)

// fields is a JSON object with its values kept as text, so that numbers keep
// all their digits and names their case.
type fields map[string]json.RawMessage

// malformed is the error for metadata that contradicts the specification.
//
//go:noinline // it has more than a hundred callers
func malformed(field, why string) error { return fault.New(fault.ErrCorrupt, "metadata", field, why) }

// badMetadata says where metadata lies. What a codec finds invalid in its
// configuration is, to who opens the array, damage and no wrong argument.
func badMetadata(key string, err error) error {
	if errors.Is(err, fault.ErrInvalid) {
		err = malformed("codecs", err.Error())
	}
	return &fault.Error{Format: "zarr", Item: key, Off: -1, Err: err}
}

// parseObject parses one JSON object and nothing after it.
func parseObject(raw []byte) (fields, error) {
	return object("", raw)
}

func object(field string, raw json.RawMessage) (fields, error) {
	f, err := rawjson.Object(raw)
	if err != nil {
		return nil, malformed(field, err.Error())
	}
	return f, nil
}

func list(field string, raw json.RawMessage) ([]json.RawMessage, error) {
	l, err := rawjson.List(raw)
	if err != nil {
		return nil, malformed(field, err.Error())
	}
	return l, nil
}

func text(field string, raw json.RawMessage) (string, error) {
	if !isText(raw) {
		return "", malformed(field, "want a string, got "+brief(raw))
	}
	s, err := rawjson.String(raw)
	if err != nil {
		return "", malformed(field, err.Error())
	}
	return s, nil
}

// integer parses a JSON integer: no fraction, no exponent, all 64 bits.
func integer(field string, raw json.RawMessage) (int64, error) {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		return 0, malformed(field, "want an integer, got "+brief(raw))
	}
	return n, nil
}

// sizes parses a list of integers that are at least min.
func sizes(field string, raw json.RawMessage, min int64) ([]int64, error) {
	l, err := list(field, raw)
	if err != nil {
		return nil, err
	}
	out := make([]int64, len(l))
	for i, r := range l {
		if out[i], err = integer(field, r); err != nil {
			return nil, err
		}
		if out[i] < min {
			return nil, malformed(field, itoa(out[i])+" is less than "+itoa(min))
		}
	}
	return out, nil
}

func isText(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '"' }
func isNull(raw json.RawMessage) bool { return raw == nil || string(raw) == "null" }

// brief quotes a value for an error text, cut short.
func brief(raw json.RawMessage) string {
	const most = 40
	if len(raw) > most {
		return string(raw[:most]) + "…"
	}
	return string(raw)
}

// extension is a data type, grid, key encoding or codec as metadata names
// it: an object, or since v3.1 the bare name.
type extension struct {
	name   string
	config fields          // empty if absent
	raw    json.RawMessage // configuration as text; nil if absent
}

func parseExtension(field string, raw json.RawMessage) (extension, error) {
	if isText(raw) {
		name, err := text(field, raw)
		return extension{name: name}, err
	}
	f, err := object(field, raw)
	if err != nil {
		return extension{}, err
	}
	for k := range f {
		if k != "name" && k != "configuration" && k != "must_understand" {
			return extension{}, malformed(field, "unknown member "+strconv.Quote(k))
		}
	}
	e := extension{raw: f["configuration"]}
	if e.name, err = text(field+".name", f["name"]); err != nil {
		return extension{}, err
	}
	if isNull(e.raw) {
		e.raw = nil
	} else if e.config, err = object(field+"."+e.name, e.raw); err != nil {
		return extension{}, err
	}
	return e, nil
}

// only refuses configuration members that this code does not know.
func (e extension) only(field string, known ...string) error {
	for k := range e.config {
		if !slices.Contains(known, k) {
			return malformed(field+"."+e.name, "unknown member "+strconv.Quote(k))
		}
	}
	return nil
}

// compact returns JSON without white space.
func compact(raw json.RawMessage) json.RawMessage { return rawjson.Compact(raw) }
