package host

import (
	"encoding/json"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/wasm/wire"
)

func internal(why string) error { return fault.New(fault.ErrInternal, "guest", "", why) }

// failureOf makes the error that crossed the ABI as code and detail.
func failureOf(code fault.Code, detail []byte) error {
	var d fault.Detail
	if json.Unmarshal(detail, &d) != nil || d.Text == "" {
		return fault.New(fault.Of(code), "guest", "", "")
	}
	d.Code = code
	return d.Err()
}

// refused is the error of an operation that was not started.
func refused(kind uint32, code fault.Code) error {
	return fault.New(fault.Of(code), "guest", wire.KindName(kind), "refuses the request")
}
