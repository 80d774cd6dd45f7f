package image_test

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
)

// starTable is a table as a scan gives it.
type starTable struct {
	block  string
	labels []string
	rows   [][]string
}

func scanSTAR(r io.Reader) (tables []starTable, err error) {
	s := image.NewSTARScanner(r, "t.star")
	for s.NextTable() {
		t := starTable{s.Block(), s.Labels(), nil}
		for s.NextRow() {
			var row []string
			for _, v := range s.Values() {
				row = append(row, string(v))
			}
			t.rows = append(t.rows, row)
		}
		tables = append(tables, t)
	}
	return tables, s.Err()
}

// The freedoms that writers of STAR files take: all say the same.
func TestSTARVariants(t *testing.T) {
	const plain = "data_a\n\nloop_\n_x #1\n_y #2\n1 one\n2 two\n"
	want := []starTable{{"a", []string{"x", "y"}, [][]string{{"1", "one"}, {"2", "two"}}}}
	for name, text := range map[string]string{
		"plain":               plain,
		"leading blanks":      "  data_a\n  loop_\n\t_x\n  _y\n   1 one\n   2 two\n",
		"no blank lines":      "data_a\nloop_\n_x\n_y\n1 one\n2 two\n",
		"extra blank lines":   "\n\n\ndata_a\n\n\nloop_\n\n_x\n\n_y\n\n\n1 one\n\n2 two\n\n\n",
		"comments":            "# v\ndata_a # c\n# c\nloop_ # c\n_x # c\n# c\n_y #2\n# c\n1 one # c\n  # c\n2 two\n# c",
		"CRLF":                strings.ReplaceAll(plain, "\n", "\r\n"),
		"no last newline":     strings.TrimSuffix(plain, "\n"),
		"quotes":              "data_a\nloop_\n_x\n_y\n'1' \"one\"\n2 'two'\n",
		"no numbers":          "data_a\nloop_\n_x\n_y\n1 one\n2 two\n",
		"tabs":                "data_a\nloop_\n_x\n_y\n1\tone\n2\ttwo\t\n",
		"text fields":         "data_a\nloop_\n_x\n_y\n1\n;one\n;\n;2\n;\n;two\n;\n",
		"keywords in caps":    "DATA_a\nLOOP_\n_x\n_y\n1 one\n2 two\n",
		"a text field inside": "data_a\nloop_\n_x\n_y\n;1\n; one\n2 two\n",
	} {
		got, err := scanSTAR(strings.NewReader(text))
		require.NoError(t, err, name)
		require.Equal(t, want, got, name)
		got, err = scanSTAR(iotest.OneByteReader(strings.NewReader(text)))
		require.NoError(t, err, name)
		require.Equal(t, want, got, name)
		var again bytes.Buffer
		require.NoError(t, writeTables(image.NewSTARWriter(&again), got, false), name)
		got, err = scanSTAR(&again)
		require.NoError(t, err, name)
		require.Equal(t, want, got, name)
	}
}

func TestSTARValues(t *testing.T) {
	got, err := scanSTAR(strings.NewReader("data_\n_a 1\n_b 'with blanks'\n_c \"a \"quote\"inside\"\n_d\n;two\nlines\n;\n_e it's\nloop_\n_x\nloop_\n_y\n_z\n'' x\ndata_1/m.mrc x\ndata_last\n_z '#'\n"))
	require.NoError(t, err)
	require.Equal(t, []starTable{
		{"", []string{"a", "b", "c", "d", "e"}, [][]string{{"1", "with blanks", `a "quote"inside`, "two\nlines", "it's"}}},
		{"", []string{"x"}, nil},
		{"", []string{"y", "z"}, [][]string{{"", "x"}, {"data_1/m.mrc", "x"}}},
		{"last", []string{"z"}, [][]string{{"#"}}},
	}, got)
}

func TestSTARDamage(t *testing.T) {
	for _, tc := range []struct {
		text, want string
		kind       error
	}{
		{"data_\nloop_\n_x\n_y\n1 2\n3\n", "line 6: too few values: 1, want 2", fault.ErrCorrupt},
		{"data_\nloop_\n_x\n_y\n1 2\n3 4 5\n", "line 6: too many values: want 2", fault.ErrCorrupt},
		{"data_\nloop_\n_x\n'open\n", "line 4: a quote that does not end", fault.ErrCorrupt},
		{"data_\nloop_\n_x\n;open\n1\n", "text that does not end", fault.ErrCorrupt},
		{"data_\nloop_\n1 2\n", "line 3: a loop_ without labels", fault.ErrCorrupt},
		{"data_\nloop_\n_x\n_x\n", "line 4: the label _x twice", fault.ErrCorrupt},
		{"data_\n_x\n", "line 2: too few values: 0, want 1", fault.ErrCorrupt},
		{"data_\n1 2 3\n", "line 2: a value without a label", fault.ErrCorrupt},
		{"just text\n", "line 1: a value without a label", fault.ErrCorrupt},
		{"data_ x\n", "line 1: more on the line", fault.ErrCorrupt},
		{"data_\n_ 1\n", "line 2: a label without a name", fault.ErrCorrupt},
		{"data_\nloop_\n_x\n" + strings.Repeat("x", 1<<20+1), "line 4: a line of more", fault.ErrLimit},
		{"data_\nloop_\n_x\n;" + strings.Repeat("x\n", 1<<20), "text of more", fault.ErrLimit},
		{"data_\nloop_\n_x\n_y\n_z\n" + strings.Repeat(";"+strings.Repeat("x", 1<<19)+"\n;\n", 3), "a row of more", fault.ErrLimit},
	} {
		_, err := scanSTAR(strings.NewReader(tc.text))
		require.ErrorIs(t, err, tc.kind, tc.want)
		require.ErrorContains(t, err, tc.want)
		require.ErrorContains(t, err, "t.star")
	}
	// Long lines are fine up to there.
	long := strings.Repeat("x", 1<<20-10)
	got, err := scanSTAR(strings.NewReader("data_\nloop_\n_x\n" + long + "\nshort\n"))
	require.NoError(t, err)
	require.Equal(t, [][]string{{long}, {"short"}}, got[0].rows)
	_, err = scanSTAR(iotest.ErrReader(io.ErrClosedPipe))
	require.Equal(t, io.ErrClosedPipe, err)
	_, err = scanSTAR(bytes.NewReader(nil))
	require.NoError(t, err)
}
