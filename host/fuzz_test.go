package host

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
)

// FuzzAnswers takes any bytes for what a guest answers: the guest is not
// trusted either.
func FuzzAnswers(f *testing.F) {
	table := make([]byte, 48)
	table[0], table[8], table[12] = 1, 1, 1
	f.Add(table)
	f.Add([]byte("\x28\x00\x00\x00\x00\x00\x00\x00{\"End\":true,\"Keys\":[\"a\"],\"Groups\":[{}]}"))
	f.Add([]byte(`{"code":-2,"format":"zip","item":"a","off":3,"text":"zip: a"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if x, err := parseTable(b); err == nil {
			require.LessOrEqual(t, 8*len(x.entries)+len(x.key)+len(x.version), len(b))
		} else {
			require.ErrorIs(t, err, fault.ErrInternal)
		}
		if p, err := parseTablePart(b); err == nil {
			p.info()
			for i := range p.n {
				if r, ok := p.row(i); ok {
					require.Contains(t, p.Keys, r.Key)
				}
			}
		} else {
			require.ErrorIs(t, err, fault.ErrInternal)
		}
		if d, ok := fault.ParseDetail(b); ok {
			require.NotEmpty(t, d.Err().Error())
			require.Less(t, fault.CodeOf(d.Err()), fault.Code(1))
		}
	})
}
