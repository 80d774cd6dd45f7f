package image_test

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gridhold/gridhold/internal/golden"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/storage"
)

// seed adds the files of the fixtures that have one of the extensions.
func seed(f *testing.F, most int, extensions ...string) {
	dir, _, err := golden.LoadImages()
	if err != nil {
		f.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		f.Fatal(err)
	}
	for _, e := range entries {
		for _, ext := range extensions {
			if filepath.Ext(e.Name()) != ext {
				continue
			}
			b, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b[:min(len(b), most)])
		}
	}
}

// known fails for an error of a kind that bytes cannot lead to.
func known(t *testing.T, err error) {
	switch c := fault.CodeOf(err); c {
	case 0, fault.CodeCorrupt, fault.CodeUnsupported, fault.CodeLimit, fault.CodeInvalid:
	default:
		t.Fatalf("%s: %v", c.Name(), err)
	}
}

// FuzzMRC opens any bytes as an MRC file and reads what it says it holds.
func FuzzMRC(f *testing.F) {
	seed(f, 1500, ".mrc", ".mrcs", ".map", ".st")
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, partial := range []bool{false, true} {
			st := storage.NewMemory()
			st.Set("a.mrcs", b)
			file := storage.FileOf(ctx, st, "a.mrcs")
			m, err := image.OpenMRC(ctx, file, "a.mrcs", image.MRCOptions{AllowPartial: partial})
			if err != nil {
				known(t, err)
				continue
			}
			d := m.Describe()
			if err := d.Check(); err != nil {
				t.Fatal(err)
			}
			if d.Bytes() > 1<<24 {
				if !partial && d.Bytes() > 2*int64(len(b)) {
					t.Fatalf("%d bytes of pixels in a file of %d", d.Bytes(), len(b))
				}
				continue
			}
			all := make([]byte, d.Bytes())
			err = m.ReadImages(ctx, all, 0)
			if err != nil && !partial {
				t.Fatal(err)
			}
			known(t, err)
			if _, err := m.ExtendedHeader(ctx); err != nil && !partial {
				t.Fatal(err)
			}
			off, n := m.Header().Data()
			if off < 1024 || n < 0 || off+n < off || !partial && off+n > int64(len(b)) {
				t.Fatalf("data at %d+%d of %d", off, n, len(b))
			}
		}
	})
}

// FuzzTable reads any bytes as a table. What it holds at a time is bounded.
func FuzzTable(f *testing.F) {
	seed(f, 700, ".star", ".cs")
	f.Add([]byte(npy("{'descr': [('blob/path', 'S3'), ('o', [('a', '<f4', (2, 3))])], 'fortran_order': True, 'shape': (1L,)}", 1, 2, 3)))
	f.Add([]byte("data_\nloop_\n_rlnImageName\n;1@a\n;\n'2@b c'\n"))
	f.Add([]byte("3@a\nb\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var last int64 = -1
		_, err := image.ReadTable(ctx, bytes.NewReader(b), "t", image.TableOptions{}, func(r image.TableRow) error {
			if r.Key == "" || r.Index < image.WholeFile || r.Row != last+1 || r.Line < 0 {
				t.Fatalf("%+v after row %d", r, last)
			}
			last = r.Row
			return nil
		})
		runtime.ReadMemStats(&after)
		known(t, err)
		if after.TotalAlloc-before.TotalAlloc > 8<<20+64*uint64(len(b)) {
			t.Fatalf("%d bytes of memory for %d", after.TotalAlloc-before.TotalAlloc, len(b))
		}
	})
}

// FuzzSTAR scans any text. Every value lies in it, but for the lines of text
// fields, whose ends are written alike.
func FuzzSTAR(f *testing.F) {
	seed(f, 700, ".star")
	f.Add([]byte("data_\n_a\n;text\nmore\n;\nloop_\n_b\n_c\n'x y' z\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		text := strings.ReplaceAll(string(b), "\r\n", "\n")
		s := image.NewSTARScanner(bytes.NewReader(b), "t")
		for s.NextTable() {
			for s.NextRow() {
				if len(s.Values()) != len(s.Labels()) {
					t.Fatalf("%d values for %d labels", len(s.Values()), len(s.Labels()))
				}
				for _, v := range s.Values() {
					if !strings.Contains(text, string(v)) && !bytes.Contains(b, v) && !strings.Contains(string(b), "\r") {
						t.Fatalf("%q is not in the text", v)
					}
				}
			}
		}
		known(t, s.Err())
	})
}

// FuzzLocation holds ParseLocation against what tables make of the same text.
func FuzzLocation(f *testing.F) {
	for _, s := range []string{"1@a", "0@a", "000012@a b@c", "a", "@", "18446744073709551616@x", "9223372036854775807@x", "9223372036854775808@x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		l, err := image.ParseLocation(s)
		known(t, err)
		if err == nil {
			if again, err := image.ParseLocation(l.String()); err != nil || again != l {
				t.Fatalf("%q: %v, then %v: %v", s, l, again, err)
			}
		}
		if strings.ContainsAny(s, "\x00\r\n\t\v\f #'\"") || s == "" || s[0] == ';' || len(s) > 1<<16 || !utf8.ValidString(s) {
			return
		}
		rows, _, tableErr := readTable("data_\nloop_\n_rlnImageName\n_x\n"+s+" x\n", "t.star", image.TableOptions{})
		if s[0] == '_' { // a label
			return
		}
		if (tableErr == nil) != (err == nil) || err == nil && rows[0].ImageLocation != l {
			t.Fatalf("%q: %v %v, in a table %v %v", s, l, err, rows, tableErr)
		}
	})
}

// FuzzCast casts any pixels there and back: to a wider type and back is the
// same.
func FuzzCast(f *testing.F) {
	f.Add([]byte("01234567"), uint8(3), uint8(6))
	f.Fuzz(func(t *testing.T, b []byte, from, to uint8) {
		a, z := image.Type(from), image.Type(to)
		if !image.Castable(a, z) {
			return
		}
		n := min(len(b)/a.Size(), 2000)
		src, dst, back := b[:n*a.Size()], make([]byte, n*z.Size()), make([]byte, n*a.Size())
		if err := image.Cast(dst, z, src, a); err != nil {
			t.Fatal(err)
		}
		if err := image.Cast(back, a, dst, z); err != nil {
			t.Fatal(err)
		}
		wider := map[image.Type][]image.Type{
			image.Int8: {image.Int16, image.Int32, image.Int64, image.Float16, image.Float32, image.Float64}, image.Uint8: {image.Int16, image.Uint16, image.Float32, image.Uint64},
			image.Int16: {image.Int32, image.Float32, image.Float64}, image.Uint32: {image.Int64, image.Float64}, image.ComplexInt16: {image.Complex64, image.Complex128},
		}
		for _, w := range wider[a] {
			if w == z && !bytes.Equal(src, back) {
				t.Fatalf("%v to %v and back: %x, %x", a, z, src, back)
			}
		}
	})
}
