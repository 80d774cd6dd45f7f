package image_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/internal/golden"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
)

func readTable(text, name string, o image.TableOptions) (rows []image.TableRow, info image.TableInfo, err error) {
	info, err = image.ReadTable(ctx, strings.NewReader(text), name, o, func(r image.TableRow) error {
		rows = append(rows, r)
		return nil
	})
	return rows, info, err
}

func TestGoldenTables(t *testing.T) {
	dir, m, err := golden.LoadImages()
	require.NoError(t, err)
	require.Len(t, m.Tables, 4)
	_, fs, _ := loadImages(t)
	files := image.Files(fs, image.FilesOptions{})
	for _, table := range m.Tables {
		t.Run(table.File, func(t *testing.T) {
			b, err := os.ReadFile(filepath.Join(dir, table.File))
			require.NoError(t, err)
			rows, info, err := readTable(string(b), table.File, image.TableOptions{})
			require.NoError(t, err)
			require.Equal(t, int64(table.Rows), info.Rows)
			for i, r := range rows {
				require.Equal(t, image.ImageLocation{Key: table.Locations[i].Path, Index: table.Locations[i].Index}, r.ImageLocation, "row %d", i)
				require.Equal(t, int64(i), r.Row)
				f, err := files.Open(ctx, r.Key)
				require.NoError(t, err)
				_, _, err = f.Describe().Images(r.ImageLocation)
				require.NoError(t, err)
				require.NoError(t, f.Close())
			}
			switch table.File {
			case "relion31.star":
				require.Equal(t, map[int64]image.OpticsGroup{1: {Name: "opticsGroup1", PixelSize: 1.25}}, info.Groups)
				require.Equal(t, "particles", info.Block)
				require.Equal(t, 1.25, rows[80].PixelSize)
			case "relion31_quirks.star":
				require.Equal(t, "group one", info.Groups[1].Name)
			case "particles.cs":
				require.Equal(t, image.TableCryoSPARC, info.Kind)
				require.InDelta(t, 1.25, rows[3].PixelSize, 1e-6)
				require.NotZero(t, rows[3].UID)
			}
		})
	}
}

const optics = "data_optics\nloop_\n_rlnOpticsGroup\n_rlnImagePixelSize\n1 1.5\n2 3\n\n"

// The optics table may stand before or behind; a table of images is known by
// its column; nothing is guessed.
func TestWhichTable(t *testing.T) {
	particles := "data_particles\nloop_\n_rlnImageName\n_rlnOpticsGroup\n1@a 1\n2@a 2\n\n"
	rows, info, err := readTable(optics+particles, "a.star", image.TableOptions{})
	require.NoError(t, err)
	require.Equal(t, []float64{1.5, 3}, []float64{rows[0].PixelSize, rows[1].PixelSize})
	require.Equal(t, "particles", info.Block)
	rows, info, err = readTable(particles+optics, "a.star", image.TableOptions{})
	require.NoError(t, err)
	require.Equal(t, 3.0, info.Groups[rows[1].Group].PixelSize)
	for name, tc := range map[string]struct{ text, want string }{
		"none":          {optics, "no table has the column _rlnImageName"},
		"two":           {particles + strings.ReplaceAll(particles, "particles", "more"), "in two tables: data_particles and data_more"},
		"no such group": {optics + strings.ReplaceAll(particles, "2@a 2", "2@a 7"), "line 13: there is no optics group 7"},
		"group twice":   {strings.ReplaceAll(optics, "2 3", "1 3") + particles, "the optics group 1 twice"},
		"no number":     {optics + strings.ReplaceAll(particles, "2@a 2", "2@a x"), `line 13: number: "x"`},
	} {
		_, _, err := readTable(tc.text, "a.star", image.TableOptions{})
		require.ErrorContains(t, err, tc.want, name)
		require.ErrorContains(t, err, "a.star", name)
	}
	rows, _, err = readTable("data_micrographs\nloop_\n_rlnMicrographName\nm/a.mrc\n", "a.star", image.TableOptions{Column: "rlnMicrographName"})
	require.NoError(t, err)
	require.Equal(t, image.ImageLocation{Key: "m/a.mrc", Index: image.WholeFile}, rows[0].ImageLocation)
	_, _, err = readTable("data_\n_rlnImageName 3@x\n", "no extension", image.TableOptions{})
	require.NoError(t, err)
}

// No row is ever dropped: a hundred come out, or an error names the line.
func TestNoRowIsDropped(t *testing.T) {
	head := "data_\nloop_\n_rlnImageName\n_rlnDefocusU\n_rlnDefocusV\n"
	row := func(i int) string { return fmt.Sprintf("%06d@stack.mrcs 1.0 2.0\n", i+1) }
	for name, tc := range map[string]struct{ line, want string }{
		"fine":           {row(56), ""},
		"nan":            {"57@stack.mrcs nan 2.0\n", ""},
		"twice":          {row(55), ""},
		"behind a blank": {"\n \t\n" + row(56), ""},
		"too few":        {"57@stack.mrcs 1.0\n", "line 62: too few values: 2, want 3"},
		"too many":       {"57@stack.mrcs 1.0 2.0 3.0\n", "line 62: too many values: want 3"},
		"index 0":        {"0@stack.mrcs 1.0 2.0\n", `line 62: image location: "0@stack.mrcs": images are counted from 1`},
		"negative":       {"-1@stack.mrcs 1.0 2.0\n", "line 62: image location"},
		"no key":         {"7@ 1.0 2.0\n", "line 62: image location"},
		"no index":       {"@stack.mrcs 1.0 2.0\n", "line 62: image location"},
		"too large":      {"9999999999999999999999@stack.mrcs 1.0 2.0\n", "line 62: image location"},
	} {
		text := head
		for i := range 100 {
			if i == 56 {
				text += tc.line
			} else {
				text += row(i)
			}
		}
		rows, _, err := readTable(text, "a.star", image.TableOptions{})
		if tc.want == "" {
			require.NoError(t, err, name)
			require.Len(t, rows, 100, name)
			continue
		}
		require.ErrorContains(t, err, tc.want, name)
	}
}

func TestList(t *testing.T) {
	rows, info, err := readTable("# of stacks\na.mrcs\n\n  3@b c.mrcs  \r\n", "stacks.txt", image.TableOptions{})
	require.NoError(t, err)
	require.Equal(t, image.TableList, info.Kind)
	require.Len(t, rows, 2)
	require.Equal(t, image.ImageLocation{Key: "a.mrcs", Index: image.WholeFile}, rows[0].ImageLocation)
	require.Equal(t, image.ImageLocation{Key: "b c.mrcs", Index: 2}, rows[1].ImageLocation)
	require.Equal(t, int64(4), rows[1].Line)
	_, _, err = readTable("a.mrcs\n0@b\n", "stacks.txt", image.TableOptions{})
	require.ErrorContains(t, err, "line 2")
	_, _, err = readTable("\x00\x01\x02", "x", image.TableOptions{})
	require.ErrorIs(t, err, fault.ErrCorrupt)
}

// Rows that name one image by several spellings of its path are one image, if
// asked for.
func TestCleanPaths(t *testing.T) {
	const table = "data_\nloop_\n_rlnImageName\n1@A/p.mrcs\n1@./A/p.mrcs\n1@A/../A//p.mrcs\n2@A/p.mrcs\n1@./A/p.mrcs\n"
	for clean, want := range map[bool]int64{false: 4, true: 2} {
		rows, _, err := readTable(table, "a.star", image.TableOptions{Clean: clean})
		require.NoError(t, err)
		require.Len(t, rows, 5)
		g, err := image.GroupLocations(func(yield func(image.ImageLocation) bool) {
			for _, r := range rows {
				if !yield(r.ImageLocation) {
					return
				}
			}
		})
		require.NoError(t, err)
		require.Equal(t, want, g.Count())
	}
}

func npy(header string, records ...byte) string {
	b := append([]byte("\x93NUMPY\x01\x00"), binary.LittleEndian.AppendUint16(nil, uint16(len(header)))...)
	return string(append(append(b, header...), records...))
}

func TestCryoSPARC(t *testing.T) {
	rows, _, err := readTable(npy("{'descr': [('t', '>u2'), (('x', 'blob/path'), 'S3'), ('blob/idx', '>u4'), ('', '|V1'), ('o', [('a', '<f4', (2, 3)), ('b', '|b1')]), ('blob/psize_A', '<f8'),], 'fortran_order': True, 'shape': (1L,)}",
		append(append([]byte{1, 2, '>', 'a', 0, 0, 0, 0, 9, 0}, make([]byte, 25)...), 0, 0, 0, 0, 0, 0, 0xf8, 0x3f)...), "x.cs", image.TableOptions{})
	require.NoError(t, err)
	require.Equal(t, image.ImageLocation{Key: "a", Index: 9}, rows[0].ImageLocation)
	require.Equal(t, 1.5, rows[0].PixelSize)
	const good = "[('blob/path', 'S3'), ('blob/idx', '<u4')]"
	for name, tc := range map[string]struct {
		text string
		kind error
		want string
	}{
		"objects":     {npy("{'descr': [('blob/path', '|O')], 'fortran_order': False, 'shape': (1,)}"), fault.ErrUnsupported, "pickles"},
		"compressed":  {"\x94CSDAT....", fault.ErrUnsupported, "CSDAT"},
		"plain":       {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}"), fault.ErrUnsupported, "not a table"},
		"two axes":    {npy("{'descr': " + good + ", 'fortran_order': False, 'shape': (1, 2)}"), fault.ErrUnsupported, "2 axes"},
		"no axes":     {npy("{'descr': " + good + ", 'fortran_order': False, 'shape': ()}"), fault.ErrUnsupported, "0 axes"},
		"an engine":   {npy("{'descr': __import__('os').system('x'), 'shape': (1,)}"), fault.ErrUnsupported, ""},
		"a call":      {npy("{'descr': [(str(1), 'S3')], 'shape': (1,)}"), fault.ErrCorrupt, "no text"},
		"many rows":   {npy("{'descr': "+good+", 'fortran_order': False, 'shape': (1000000000000,)}", 1, 2, 3, 4, 5, 6, 7, 8), fault.ErrCorrupt, "truncated data"},
		"huge record": {npy("{'descr': [('a', 'S3', (1000000, 1000000, 1000000, 1000000))], 'shape': (1,)}"), fault.ErrLimit, ""},
		"deep":        {npy("{'descr': " + strings.Repeat("[('a', ", 20) + "'S3'" + strings.Repeat(")]", 20) + ", 'shape': (1,)}"), fault.ErrLimit, "deep"},
		"no path":     {npy("{'descr': [('uid', '<u8')], 'fortran_order': False, 'shape': (1,)}"), fault.ErrInvalid, "blob/path"},
		"version":     {"\x93NUMPY\x09\x00\x00\x00", fault.ErrUnsupported, "version 9"},
		"cut":         {"\x93NUMPY\x01\x00\xff\xff{", fault.ErrCorrupt, "truncated header"},
		"huge header": {"\x93NUMPY\x02\x00\xff\xff\xff\xff{", fault.ErrLimit, ""},
		"negative":    {npy("{'descr': [('blob/path', 'S1'), ('blob/idx', '<i4')], 'shape': (1,)}", 'a', 0xff, 0xff, 0xff, 0xff), fault.ErrInvalid, "row 0"},
		"twice":       {npy("{'descr': [('a', 'S1'), ('a', '<i4')], 'shape': (1,)}"), fault.ErrCorrupt, "twice"},
		"empty path":  {npy("{'descr': "+good+", 'shape': (1,)}", 0, 0, 0, 1, 0, 0, 0), fault.ErrInvalid, "row 0"},
	} {
		_, _, err := readTable(tc.text, "x.cs", image.TableOptions{})
		require.ErrorIs(t, err, tc.kind, name)
		require.ErrorContains(t, err, tc.want, name)
		require.ErrorContains(t, err, "x.cs", name)
	}
}

func TestTableStops(t *testing.T) {
	stop := errors.New("enough")
	n := 0
	_, err := image.ReadTable(ctx, strings.NewReader("1@a\n2@a\n3@a\n"), "l", image.TableOptions{}, func(image.TableRow) error {
		n++
		return stop
	})
	require.Equal(t, stop, err)
	require.Equal(t, 1, n)
	over, cancel := context.WithCancel(ctx)
	cancel()
	_, err = image.ReadTable(over, bytes.NewReader([]byte("1@a\n")), "l", image.TableOptions{}, func(image.TableRow) error { return nil })
	require.ErrorIs(t, err, fault.ErrCancelled)
}
