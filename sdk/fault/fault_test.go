package fault_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
)

// Names of members, keys and fields come from files: none of them ends a line
// of a log or speaks to a terminal.
func TestTextIsOneLine(t *testing.T) {
	for _, tc := range []struct{ item, want string }{
		{"c/0/1", "c/0/1"},
		{`a "name" of C:\dir`, `a "name" of C:\dir`},
		{"größe/図", "größe/図"},
		{"a\nlevel=error b", `a\nlevel=error b`},
		{"\x1b[2J\u009b", `\x1b[2J\u009b`},
		{"a\u202eb", `a\u202eb`},
		{"a\xffb\ufffd", `a\xffb` + "\ufffd"},
	} {
		err := fault.At(fault.ErrCorrupt, "zip", tc.item, 7, "is there twice")
		require.EqualError(t, err, "zip: "+tc.want+" at 7: is there twice: corrupt")
		require.Equal(t, tc.item, fault.DetailOf(err).Item)
	}
	err := fault.New(errors.New("one\ntwo"), "store", "k", "")
	require.EqualError(t, err, `store: k: one\ntwo`)
}
