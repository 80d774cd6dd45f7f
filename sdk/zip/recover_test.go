package zip_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/zip"
)

// wide is a member whose sizes are in the extra field.
func wide(name string, data []byte) entry {
	extra := binary.LittleEndian.AppendUint16(nil, 1)
	extra = binary.LittleEndian.AppendUint16(extra, 16)
	for range 2 {
		extra = binary.LittleEndian.AppendUint64(extra, uint64(len(data)))
	}
	e := member(name, data, zip.Stored, extra)
	binary.LittleEndian.PutUint64(e.local[18:], 1<<64-1)
	return e
}

// flags sets those of a local header.
func flags(e entry, f uint16) entry {
	binary.LittleEndian.PutUint16(e.local[6:], f)
	return e
}

// What the local headers prove is found, whatever became of the directory, and
// with what they do not prove comes all that was before.
func TestRecover(t *testing.T) {
	a, b := member("a", []byte("some bytes"), zip.Stored, nil), wide("dir/b", []byte("more of them"))
	dir := member("dir/", nil, zip.Stored, nil)
	both := append(append(bytes.Clone(a.local), dir.local...), b.local...)
	bad := member("c", []byte("other bytes"), zip.Stored, nil)
	bad.local[len(bad.local)-1] ^= 1
	for name, tc := range map[string]struct {
		after []byte
		want  error
	}{
		"whole":                  {after: whole(a, dir, b)[len(both):]},
		"no end":                 {after: whole(a, dir, b)[len(both) : len(both)+60]},
		"no directory":           {after: nil},
		"directory cut":          {after: []byte("PK\x01")},
		"may be another member":  {after: []byte("PK"), want: fault.ErrCorrupt},
		"something else":         {after: make([]byte, 40), want: fault.ErrCorrupt},
		"member cut":             {after: member("c", make([]byte, 100), zip.Stored, nil).local[:90], want: fault.ErrCorrupt},
		"header cut":             {after: bad.local[:20], want: fault.ErrCorrupt},
		"name cut":               {after: member("long", nil, zip.Stored, nil).local[:32], want: fault.ErrCorrupt},
		"not what was packed":    {after: bad.local, want: fault.ErrCorrupt},
		"twice":                  {after: a.local, want: fault.ErrCorrupt},
		"leads elsewhere":        {after: member("../c", nil, zip.Stored, nil).local, want: fault.ErrCorrupt},
		"sizes after the bytes":  {after: flags(member("c", nil, zip.Stored, nil), 1<<3).local, want: fault.ErrUnsupported},
		"encrypted":              {after: flags(member("c", nil, zip.Stored, nil), 1).local, want: fault.ErrUnsupported},
		"compressed":             {after: member("c", nil, zip.Deflated, nil).local, want: fault.ErrUnsupported},
		"directory's first flip": {after: func() []byte { d := whole(a, dir, b)[len(both):]; d[0] ^= 1; return d }()},
	} {
		t.Run(name, func(t *testing.T) {
			file := append(bytes.Clone(both), tc.after...)
			r := bytes.NewReader(file)
			members, end, err := zip.Recover(t.Context(), r, int64(len(file)))
			require.ErrorIs(t, err, tc.want)
			if tc.want == nil {
				require.EqualValues(t, len(both), end)
			}
			require.Len(t, members, 2)
			require.Equal(t, "dir/b", members[1].Name)
			require.EqualValues(t, 12, members[1].Size)
			off, err := members[1].Data(r, int64(len(file)))
			require.NoError(t, err)
			require.Equal(t, "more of them", string(file[off:off+12]))
		})
	}
}
