package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/internal/golden"
)

func TestImageFiles(t *testing.T) {
	dir, m, err := golden.LoadImages()
	require.NoError(t, err)
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer server.Close()
	for _, f := range m.Files {
		for _, where := range []string{dir, server.URL} {
			name := where + "/" + f.File
			if where != dir && filepath.Ext(name) == "" {
				continue // a server is not asked what its files are
			}
			kind, refused := strings.CutPrefix(f.Expect, "error:")
			status, text, errs := here(t, "info", "--json", name)
			if refused {
				require.Equal(t, 1, status, name)
				require.Empty(t, text)
				require.Regexp(t, `^gridhold: [^\n]+\n$`, errs)
				require.Contains(t, errs, strings.ReplaceAll(kind, "-", " "))
				require.Equal(t, 1, strings.Count(errs, f.File), errs)
				status, text, _ = here(t, "read", name)
				require.Equal(t, 1, status, name)
				require.Empty(t, text)
				if kind != "unsupported-mode" && !strings.Contains(f.File, "gzip") {
					status, _, errs = here(t, "verify", name)
					require.Equal(t, 3, status, errs)
				}
				continue
			}
			require.Equal(t, 0, status, errs)
			var d imageDescription
			require.NoError(t, json.Unmarshal(text, &d))
			status, all, errs := here(t, "read", name)
			require.Equal(t, 0, status, errs)
			if f.Expect == "ok:0-images" {
				require.Empty(t, all)
				continue
			}
			require.Equal(t, f.Type, d.DataType)
			size := len(all) / len(f.SHA256)
			for i, want := range f.SHA256 {
				require.Equal(t, want, hashOf(all[i*size:(i+1)*size]), "%s, image %d", name, i)
			}
			one := len(all) / int(d.Images)
			for _, k := range []int64{0, d.Images - 1} {
				status, text, errs = here(t, "read", "--image", strconv.FormatInt(k, 10), name)
				require.Equal(t, 0, status, errs)
				require.Equal(t, all[int(k)*one:int(k+1)*one], text, "%s, image %d", name, k)
			}
			status, _, errs = here(t, "read", "--image", strconv.FormatInt(d.Images, 10), name)
			require.Equal(t, 1, status)
			require.Contains(t, errs, "out of range")
			status, _, errs = here(t, "verify", name)
			require.Equal(t, 0, status, errs)
			status, text, errs = here(t, "ls", name)
			require.Equal(t, 0, status, errs)
			require.Equal(t, int(d.Images), strings.Count(string(text), "\n"))
		}
	}
}

func TestImageTables(t *testing.T) {
	dir, m, err := golden.LoadImages()
	require.NoError(t, err)
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer server.Close()
	hashes := map[string][]string{}
	for _, f := range m.Files {
		hashes[f.File] = f.SHA256
	}
	for _, table := range m.Tables {
		for _, where := range []string{dir, server.URL} {
			name := where + "/" + table.File
			status, text, errs := here(t, "ls", "--json", name)
			require.Equal(t, 0, status, errs)
			var rows []struct {
				Path  string
				Index int64
			}
			require.NoError(t, json.Unmarshal(text, &rows))
			require.Len(t, rows, table.Rows)
			for i, r := range rows {
				require.Equal(t, table.Locations[i], golden.ImageLocation{Path: r.Path, Index: r.Index})
			}
			for _, k := range []int{0, 1, 80} {
				status, pixels, errs := here(t, "read", name, "--image", strconv.Itoa(k))
				require.Equal(t, 0, status, errs)
				l := table.Locations[k]
				require.Equal(t, hashes[l.Path][l.Index], hashOf(pixels), "row %d", k)
			}
			status, _, errs = here(t, "read", name, "--image", "81")
			require.Equal(t, 1, status)
			require.Contains(t, errs, "the table has 81")
			status, text, errs = here(t, "verify", name)
			require.Equal(t, 0, status, errs)
			require.Equal(t, "checked 76, damaged 0\n", string(text))
			status, _, errs = here(t, "read", name)
			require.Equal(t, 2, status, errs)
		}
	}
}

// A region of a stack, as of any other array.
func TestImageRegion(t *testing.T) {
	dir, _, err := golden.LoadImages()
	require.NoError(t, err)
	name := filepath.Join(dir, "odd_f32_5x17x13.mrcs")
	_, all, _ := here(t, "read", name)
	status, part, errs := here(t, "read", "--region", "1:4,3:10,5:7", name)
	require.Equal(t, 0, status, errs)
	var want []byte
	for z := 1; z < 4; z++ {
		for y := 3; y < 10; y++ {
			at := ((z*17+y)*13 + 5) * 4
			want = append(want, all[at:at+8]...)
		}
	}
	require.Equal(t, want, part)
	status, part, errs = here(t, "read", "--image", "2", "--region", "3,5:7", "--npy", name)
	require.Equal(t, 0, status, errs)
	require.Contains(t, string(part), "'shape': (1, 2)")
	require.Equal(t, all[((2*17+3)*13+5)*4:][:8], part[len(part)-8:])
	for _, args := range [][]string{{"--chunk", "1"}, {"--subchunk", "1"}, {"--path", "x"}, {"--key", "x"}} {
		status, _, errs = here(t, append([]string{"read", name}, args...)...)
		require.Equal(t, 2, status, errs)
	}
	status, _, errs = here(t, "read", "--image", "1", filepath.Join("..", "..", "testdata", "zarr"))
	require.Equal(t, 2, status, errs)
}

// What a table names is found from where the table lies, or by --root, also
// behind links; what is missing is told at once, by name.
func TestWhereTablesLookForFiles(t *testing.T) {
	dir, _, err := golden.LoadImages()
	require.NoError(t, err)
	project := t.TempDir()
	b, err := os.ReadFile(filepath.Join(dir, "stack_named.mrc"))
	require.NoError(t, err)
	job := filepath.Join(project, "Extract", "job007")
	require.NoError(t, os.MkdirAll(job, 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(job, "real.mrc"), b, 0o666))
	require.NoError(t, os.Symlink(filepath.Join(job, "real.mrc"), filepath.Join(job, "link.mrc"))) // an absolute one
	table := filepath.Join(job, "p.star")
	write := func(rows ...string) {
		text := "data_\nloop_\n_rlnImageName\n" + strings.Join(rows, "\n") + "\n"
		require.NoError(t, os.WriteFile(table, []byte(text), 0o666))
	}
	write("3@Extract/job007/link.mrc:mrcs", "8@Extract/job007/real.mrc", "1@absent.mrcs", "1@Extract/job007")
	status, pixels, errs := here(t, "read", "--image", "0", table)
	require.Equal(t, 0, status, errs)
	require.Equal(t, b[1024+2*256:][:256], pixels)
	status, _, errs = here(t, "read", "--image", "0", "--root", job, table)
	require.Equal(t, 1, status)
	require.Contains(t, errs, "Extract/job007/link.mrc:mrcs: not found")
	status, text, errs := here(t, "verify", table)
	require.Equal(t, 3, status, errs)
	require.Contains(t, string(text), "000008@Extract/job007/real.mrc: ")
	require.Contains(t, string(text), "absent.mrcs: line 6: ")
	require.Contains(t, string(text), "000008@Extract/job007/real.mrc: line 5: ")
	require.Contains(t, string(text), "is a directory")
	for _, engine := range engines {
		for _, what := range []struct{ row, want string }{
			{"1@absent.mrcs", "line 5: image: absent.mrcs: not found"},
			{"8@Extract/job007/real.mrc", "line 5: image: 000008@Extract/job007/real.mrc: "},
		} {
			write("1@Extract/job007/real.mrc", what.row, what.row)
			status, _, errs = here(t, "scratch", "fill", "--engine", engine, filepath.Join(project, "scr"), table)
			require.Equal(t, 1, status)
			require.Contains(t, errs, "gridhold: "+table+": "+what.want, engine)
		}
	}
	require.Contains(t, string(text), "checked 4, damaged 3")
	write("3@x", "0@x")
	for _, command := range []string{"info", "ls", "verify"} {
		status, _, errs = here(t, command, table)
		require.Equal(t, 1, status)
		require.Contains(t, errs, "line 5: ")
	}
}
