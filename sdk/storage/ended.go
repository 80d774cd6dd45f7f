package storage

import (
	"context"

	"github.com/gridhold/gridhold/sdk/fault"
)

// Ended returns nil while ctx lasts. Afterwards it returns an error that
// names item and is both ErrCancelled and the context's own error.
func Ended(ctx context.Context, item string) error {
	cause := ctx.Err()
	if cause == nil {
		return nil
	}
	return &fault.Error{Format: "store", Item: item, Off: -1, Err: ended{cause}}
}

type ended struct{ cause error }

func (e ended) Error() string   { return e.cause.Error() }
func (e ended) Unwrap() []error { return []error{fault.ErrCancelled, e.cause} }
