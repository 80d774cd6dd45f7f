package blosc2

import (
	"slices"
	"strconv"

	"github.com/gridhold/gridhold/sdk/fault"
)

// past is the states that a handle has seen of a frame, the last of them last.
//
// A handle of python-blosc2 that sets metadata writes the whole header from
// what it last saw, also after another one appended (c-blosc2 has no re-sync
// there): chunks that were committed are gone. It shows as sizes of which both
// went down to those of a state that was left. No operation does that to a
// file that stays the same one: what is deleted leaves its bytes, and what is
// replaced leaves the number of items.
type past []extent

type extent struct{ size, packed, chunks int64 }

const longPast = 64

func (p *past) add(v *view) {
	e := extent{v.Size, v.PackedSize, v.chunks}
	if n := len(*p); n > 0 && (*p)[n-1] == e {
		return
	}
	if len(*p) == longPast {
		*p = slices.Delete(*p, 0, 1)
	}
	*p = append(*p, e)
}

// overwritten returns ErrCorrupt if next looks like an older header that was
// written over newer ones. It says so once: after that the handle goes on
// with what there is.
func (p *past) overwritten(next *view) error {
	n := len(*p)
	if n < 2 || next.Sparse {
		return nil
	}
	now, before := extent{next.Size, next.PackedSize, next.chunks}, (*p)[n-1]
	if now.size >= before.size || now.packed >= before.packed || !slices.Contains((*p)[:n-1], now) {
		return nil
	}
	*p = past{now}
	return &fault.Error{Format: "frame", Off: 16, Err: errOldHeader, Why: "another program wrote an old header over a newer one: there were " +
		strconv.FormatInt(before.chunks, 10) + " chunks, now there are " + strconv.FormatInt(now.chunks, 10) + "; see Repair"}
}

// errOldHeader is ErrCorrupt that does not go away by itself.
var errOldHeader error = oldHeader{}

type oldHeader struct{}

func (oldHeader) Error() string { return fault.ErrCorrupt.Error() }
func (oldHeader) Unwrap() error { return fault.ErrCorrupt }
