//go:build gridhold_guest

package blosc

// dictionary is what the guest never makes.
type dictionary struct{ bytes []byte }

func (e *encoder) train() {}

// pack stores: the guest reads what is packed, and packs nothing, since the
// encoders would be a part of it.
func (e *encoder) pack(dst, b []byte) []byte { return append(dst, b...) }
