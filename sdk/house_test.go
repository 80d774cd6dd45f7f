// Package house_test holds the rules of the house: which package may import
// which, what the core never calls, how long a file may be.
package house_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/gridhold/gridhold/"

// arrows lists, for each part of the tree, the parts that it may import. The
// first entry that a package lies in counts, so the order is from the inside
// out. A part may always import what lies below itself.
var arrows = []struct {
	from string
	to   []string
}{
	{"sdk/rawjson", nil},
	{"sdk/fault", []string{"sdk/rawjson"}},
	{"sdk/storage", []string{"sdk/rawjson", "sdk/fault"}},
	{"sdk/cache", []string{"sdk/rawjson", "sdk/fault", "sdk/storage"}},
	{"sdk/codec", []string{"sdk/rawjson", "sdk/fault"}},
	{"sdk/zarr", []string{"sdk/rawjson", "sdk/fault", "sdk/storage", "sdk/cache", "sdk/codec"}},
	{"sdk/zip", []string{"sdk/fault", "sdk/storage", "sdk/cache", "sdk/codec"}},
	{"sdk/blosc2", []string{"sdk/rawjson", "sdk/fault", "sdk/storage", "sdk/codec", "sdk/zip"}},
	{"sdk/image", []string{"sdk/rawjson", "sdk/fault", "sdk/storage"}},
	{"sdk/scratch", []string{"sdk/rawjson", "sdk/fault", "sdk/storage", "sdk/cache", "sdk/image"}},
	{"native", []string{"sdk"}},
	{"wasm/wire", []string{"sdk/fault"}}, // the numbers of docs/abi.md, for both sides
	{"wasm/guest", []string{"sdk", "wasm/wire"}},
	{"wasm", nil},
	{"bindings/js/viewer", []string{"wasm"}}, // the page that the command serves
	{"host", []string{"sdk", "native", "wasm"}},
	{"internal/golden", nil},                                // for tests and the programs of bench: see TestGoldenIsForTests
	{"internal/faultfs", []string{"sdk", "internal/proof"}}, // for tests too
	{"internal/interop", nil},                               // tests only, against the peers
	{"internal/notice", nil},                                // a program of make check
	{"internal/proof", nil},                                 // what long runs counted
	{"internal/soak", nil},                                  // tests only, of servers under load
	{"cmd", []string{"sdk", "native", "wasm", "host", "bindings/js/viewer"}},
	{"bench", []string{"sdk", "native", "wasm", "host"}},
	{"examples", []string{"sdk", "native", "wasm", "host"}},
}

// outside are packages of the standard library that reach the outside. The
// core does so through the ports of sdk/storage only, so that it builds and
// means the same everywhere.
func outside(pkg string) bool {
	switch pkg {
	case "os", "syscall", "unsafe", "net", "plugin", "runtime/cgo", "C":
		return true
	case "net/url", "net/textproto": // text only
		return false
	}
	return strings.HasPrefix(pkg, "os/") || strings.HasPrefix(pkg, "net/") || strings.HasPrefix(pkg, "golang.org/x/sys")
}

// forbidden are calls that the core never makes: it has no timers (it asks
// the Clock), and collections are the host's to force.
var forbidden = map[string]string{
	"time.Sleep":           "ask storage.Clock",
	"time.After":           "ask storage.Clock",
	"time.NewTimer":        "ask storage.Clock",
	"time.NewTicker":       "ask storage.Clock",
	"time.AfterFunc":       "ask storage.Clock",
	"time.Tick":            "ask storage.Clock",
	"context.WithTimeout":  "deadlines are the caller's",
	"context.WithDeadline": "deadlines are the caller's",
	"runtime.GC":           "only gh_gc forces a collection",
	"runtime.SetFinalizer": "nothing may rely on finalizers",
}

const longest = 400 // lines of a file that is not a test

// source is one parsed Go file of the tree.
type source struct {
	name string // relative to the module's root, slashes
	dir  string // of name
	test bool   // a test, or of a package of suites for tests (storagetest)
	text []byte
	file *ast.File
	fset *token.FileSet
}

func (s source) at(n ast.Node) string {
	return fmt.Sprintf("%s:%d", s.name, s.fset.Position(n.Pos()).Line)
}

// below reports whether the file lies in, or below, one of the directories.
func (s source) below(dirs ...string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool { return s.dir == d || strings.HasPrefix(s.dir, d+"/") })
}

// imports returns the import paths of the file.
func (s source) imports() []string {
	var paths []string
	for _, i := range s.file.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		paths = append(paths, p)
	}
	return paths
}

// tree parses every Go file of the module.
func tree(t *testing.T) []source {
	t.Helper()
	const root = ".." // the test of sdk runs in sdk
	_, err := os.Stat(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	var all []source
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			base := path.Base(rel)
			if rel != "." && (strings.HasPrefix(base, ".") || base == "node_modules" || base == "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") {
			return nil
		}
		s := source{name: rel, dir: path.Dir(rel), fset: token.NewFileSet()}
		s.test = strings.HasSuffix(rel, "_test.go") || strings.HasSuffix(s.dir, "test")
		if s.text, err = os.ReadFile(name); err != nil {
			return err
		}
		s.file, err = parser.ParseFile(s.fset, rel, s.text, parser.ParseComments)
		all = append(all, s)
		return err
	})
	require.NoError(t, err)
	require.NotEmpty(t, all)
	return all
}

func TestArrows(t *testing.T) {
	for _, s := range tree(t) {
		if s.test {
			continue
		}
		i := slices.IndexFunc(arrows, func(a struct {
			from string
			to   []string
		}) bool {
			return s.below(a.from)
		})
		if i < 0 {
			t.Errorf("%s: %s has no entry in arrows: say what it may import", s.name, s.dir)
			continue
		}
		for _, p := range s.imports() {
			target, ours := strings.CutPrefix(p, module)
			allowed := append([]string{arrows[i].from}, arrows[i].to...)
			if ours && !(source{dir: target}).below(allowed...) {
				t.Errorf("%s imports %s, which %s may not: it may import %v", s.name, target, arrows[i].from, arrows[i].to)
			}
		}
	}
}

func TestCoreReachesNothingOutside(t *testing.T) {
	for _, s := range tree(t) {
		if s.test || !s.below("sdk") {
			continue
		}
		for _, p := range s.imports() {
			if outside(p) {
				t.Errorf("%s imports %s: the core reaches the outside through the ports of sdk/storage only", s.name, p)
			}
		}
	}
}

func TestForbiddenCalls(t *testing.T) {
	for _, s := range tree(t) {
		if s.test || !s.below("sdk") {
			continue
		}
		names := map[string]string{} // of an import in this file: its path
		for _, i := range s.file.Imports {
			p, _ := strconv.Unquote(i.Path.Value)
			name := path.Base(p)
			if i.Name != nil {
				name = i.Name.Name
			}
			names[name] = p
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := sel.X.(*ast.Ident); ok && names[x.Name] != "" {
				call := path.Base(names[x.Name]) + "." + sel.Sel.Name
				if why := forbidden[call]; why != "" {
					t.Errorf("%s uses %s: %s", s.at(n), call, why)
				}
			}
			return true
		})
	}
}

// A panic in a goroutine that nobody recovers takes the whole guest with it,
// so goroutines start in fault.Go and nowhere else.
func TestGoroutinesStartInOnePlace(t *testing.T) {
	for _, s := range tree(t) {
		if s.test || !s.below("sdk", "wasm/guest") || s.name == "sdk/fault/go.go" {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if _, ok := n.(*ast.GoStmt); ok {
				t.Errorf("%s: a bare go statement: use fault.Go", s.at(n))
			}
			return true
		})
	}
}

func TestGoldenIsForTests(t *testing.T) {
	for _, s := range tree(t) {
		for _, p := range []string{"internal/golden", "internal/faultfs"} {
			if !s.test && !s.below(p) && slices.Contains(s.imports(), module+p) {
				t.Errorf("%s imports %s, which is for tests", s.name, p)
			}
		}
	}
}

func TestEveryPackageHasAComment(t *testing.T) {
	said := map[string]bool{}
	for _, s := range tree(t) {
		if !s.test {
			said[s.dir] = said[s.dir] || s.file.Doc != nil
		}
	}
	for dir, ok := range said {
		if !ok {
			t.Errorf("%s: no package comment", dir)
		}
	}
}

func TestFilesAreShort(t *testing.T) {
	for _, s := range tree(t) {
		if n := bytes.Count(s.text, []byte("\n")); !s.test && n > longest {
			t.Errorf("%s has %d lines: more than %d are more than one thought", s.name, n, longest)
		}
	}
}
