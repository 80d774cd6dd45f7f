package image_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/storage"
)

// writeTables writes what a scan gave. A table of one row is a list where
// lists says so.
func writeTables(w *image.STARWriter, tables []starTable, lists bool) error {
	for _, t := range tables {
		if lists && len(t.rows) == 1 {
			if err := w.List(t.block, t.labels, t.rows[0]); err != nil {
				return err
			}
			continue
		}
		if err := w.Loop(t.block, t.labels...); err != nil {
			return err
		}
		for _, row := range t.rows {
			if err := w.Row(row...); err != nil {
				return err
			}
		}
	}
	return w.Flush()
}

// Whatever a value is, it comes back, wherever in a row it stands.
func TestSTARWriterValues(t *testing.T) {
	values := []string{
		"1", "", "with blanks", "a\ttab", "#no comment", "a#b", "_rlnX", "it's", `"`, `'`, `"quoted"`, `both ' and "`, `a" b' c`,
		";", ";text", "a\nb", "\n", "a\n\nb", "\nlast\n", "data_", "data_1/m.mrc", "LOOP_", "stop_", "global_x", "save_", "a\rb", "ends\r", " ", "é ü",
		"000001@Extract/job 7/a.mrcs", "nan", `x"`, `x'`, `x" `, ";a\n b", "\v", "\x00",
	}
	var table starTable
	for i, a := range values {
		for _, b := range values {
			table.rows = append(table.rows, []string{a, b, values[(i+1)%len(values)]})
		}
	}
	table.block, table.labels = "all", []string{"x", "y", "z"}
	tables := []starTable{table, {"", []string{"one"}, nil}, {"all", []string{"one"}, nil}}
	for _, v := range values {
		tables[1].rows = append(tables[1].rows, []string{v})
		tables = append(tables, starTable{"one", []string{"a", "b"}, [][]string{{v, v}}})
	}
	tables = append(tables, starTable{"none", []string{"a"}, nil})
	for _, lists := range []bool{false, true} {
		var text bytes.Buffer
		require.NoError(t, writeTables(image.NewSTARWriter(&text), tables, lists))
		got, err := scanSTAR(&text)
		require.NoError(t, err)
		require.Equal(t, tables, got)
	}
}

func TestSTARWriterRefuses(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for name, tc := range map[string]struct {
		do   func(w *image.STARWriter) error
		want error
	}{
		"no loop":      {func(w *image.STARWriter) error { return w.Row("1") }, fault.ErrInvalid},
		"no label":     {func(w *image.STARWriter) error { return w.Loop("a") }, fault.ErrInvalid},
		"a blank":      {func(w *image.STARWriter) error { return w.Loop("a", "x y") }, fault.ErrInvalid},
		"empty":        {func(w *image.STARWriter) error { return w.Loop("a", "") }, fault.ErrInvalid},
		"twice":        {func(w *image.STARWriter) error { return w.Loop("a", "x", "y", "x") }, fault.ErrInvalid},
		"many":         {func(w *image.STARWriter) error { return w.Loop("a", make([]string, 4097)...) }, fault.ErrInvalid},
		"a block":      {func(w *image.STARWriter) error { return w.Loop("a b", "x") }, fault.ErrInvalid},
		"a value less": {func(w *image.STARWriter) error { return errors.Join(w.Loop("a", "x", "y"), w.Row("1")) }, fault.ErrInvalid},
		"after a list": {func(w *image.STARWriter) error {
			return errors.Join(w.List("a", []string{"x"}, []string{"1"}), w.Row("1"))
		}, fault.ErrInvalid},
		"list":            {func(w *image.STARWriter) error { return w.List("a", []string{"x"}, nil) }, fault.ErrInvalid},
		"comment":         {func(w *image.STARWriter) error { return w.Comment("a\nb") }, fault.ErrInvalid},
		"semicolon":       {func(w *image.STARWriter) error { return errors.Join(w.Loop("a", "x"), w.Row("a\n;b")) }, fault.ErrInvalid},
		"carriage return": {func(w *image.STARWriter) error { return errors.Join(w.Loop("a", "x"), w.Row("a\r\nb")) }, fault.ErrInvalid},
		"long":            {func(w *image.STARWriter) error { return errors.Join(w.Loop("a", "x"), w.Row(long)) }, fault.ErrLimit},
		"long list": {func(w *image.STARWriter) error {
			return w.List("a", []string{"x", "y"}, []string{long[:1<<19+1], long[:1<<19]})
		}, fault.ErrLimit},
	} {
		w := image.NewSTARWriter(new(bytes.Buffer))
		require.ErrorIs(t, tc.do(w), tc.want, name)
		require.ErrorIs(t, w.Flush(), tc.want, name)
		require.ErrorIs(t, w.Comment("more"), tc.want, name)
	}
}

// failing is a file system on which nothing more can be written after some
// bytes.
type failing struct {
	storage.FS
	left int
}

type failingFile struct {
	storage.File
	fs *failing
}

func (f *failing) Open(ctx context.Context, name string, flags storage.OpenFlag) (storage.File, error) {
	file, err := f.FS.Open(ctx, name, flags)
	return failingFile{file, f}, err
}

func (f failingFile) WriteAt(p []byte, off int64) (int, error) {
	if f.fs.left -= len(p); f.fs.left < 0 {
		return 0, fault.New(fault.ErrNoSpace, "test", "", "")
	}
	return f.File.WriteAt(p, off)
}

// A file is there whole, or what was there before is.
func TestWriteSTAR(t *testing.T) {
	dir := t.TempDir()
	fs, err := file.OpenFS(dir)
	require.NoError(t, err)
	defer fs.Close()
	require.NoError(t, fs.Mkdir(ctx, "job"))
	one := func(w *image.STARWriter) error {
		return errors.Join(w.Loop("particles", "rlnImageName"), w.Row("1@a.mrcs"))
	}
	many := func(w *image.STARWriter) error {
		err := w.Loop("particles", "rlnImageName")
		for i := range int64(30_000) {
			err = errors.Join(err, w.Row(image.ImageLocation{Key: "b.mrcs", Index: i}.String()))
		}
		return err
	}
	rows := func(name string) (n int64) {
		f, err := os.Open(filepath.Join(dir, name))
		require.NoError(t, err)
		defer f.Close()
		info, err := image.ReadTable(ctx, f, name, image.TableOptions{}, func(image.TableRow) error { return nil })
		require.NoError(t, err)
		return info.Rows
	}
	for _, name := range []string{"a.star", "job/a.star"} {
		require.NoError(t, image.WriteSTAR(ctx, fs, name, one))
		require.Equal(t, int64(1), rows(name))
		require.ErrorIs(t, image.WriteSTAR(ctx, &failing{fs, 1 << 18}, name, many), fault.ErrNoSpace)
		own := errors.New("the caller's own")
		require.ErrorIs(t, image.WriteSTAR(ctx, fs, name, func(w *image.STARWriter) error { return errors.Join(many(w), own) }), own)
		require.PanicsWithValue(t, "the caller's own", func() {
			image.WriteSTAR(ctx, fs, name, func(w *image.STARWriter) error { panic("the caller's own") })
		})
		over, cancel := context.WithCancel(ctx)
		require.ErrorIs(t, image.WriteSTAR(over, fs, name, func(w *image.STARWriter) error { cancel(); return nil }), fault.ErrCancelled)
		require.Equal(t, int64(1), rows(name), "what was there")
		require.NoError(t, image.WriteSTAR(ctx, fs, name, many))
		require.Equal(t, int64(30_000), rows(name))
	}
	names, err := fs.List(ctx, "")
	require.NoError(t, err)
	require.Equal(t, []string{"a.star", "job/"}, names, "nothing is left behind")
	require.ErrorIs(t, image.WriteSTAR(ctx, fs, "job", one), fault.ErrExists)
	require.ErrorIs(t, image.WriteSTAR(ctx, fs, "none/a.star", one), fault.ErrNotFound)
}

// What starfile writes, we read as it does, and what we write of that is what
// testdata/star/make.py holds against starfile.
func TestSTARWriterAndStarfile(t *testing.T) {
	dir := filepath.Join("..", "..", "testdata", "star")
	b, err := os.ReadFile(filepath.Join(dir, "particles.star"))
	require.NoError(t, err)
	tables, err := scanSTAR(bytes.NewReader(b))
	require.NoError(t, err)
	var want map[string][]map[string]string
	b, err = os.ReadFile(filepath.Join(dir, "values.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &want))
	require.Len(t, tables, len(want))
	for _, table := range tables {
		require.Len(t, table.rows, len(want[table.block]), table.block)
		for i, row := range table.rows {
			got := map[string]string{}
			for k, l := range table.labels {
				got[l] = row[k]
			}
			require.Equal(t, want[table.block][i], got)
		}
	}
	var text bytes.Buffer
	require.NoError(t, writeTables(image.NewSTARWriter(&text), tables, true))
	b, err = os.ReadFile(filepath.Join(dir, "written.star"))
	require.NoError(t, err)
	require.Equal(t, string(b), text.String())
}
