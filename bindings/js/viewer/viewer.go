// Package viewer holds the page that "gridhold serve" shows: what is in a
// directory, opened by the npm package, in the browser.
//
// The page is plain modules, in the folder page. page/gridhold is what the package is
// built to, gathered by "make viewer" and committed, so that the command
// is built, and installed, without Node. The guest is that of package wasm.
package viewer

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/gridhold/gridhold/wasm"
)

//go:embed page
var page embed.FS

// Files are the files of the page, by their names relative to it;
// "index.html" is where it begins. They must not be changed.
var Files = sync.OnceValue(func() map[string][]byte {
	files := map[string][]byte{"gridhold/gridhold.wasm": wasm.Module}
	err := fs.WalkDir(page, "page", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files[strings.TrimPrefix(path.Clean(name), "page/")], err = page.ReadFile(name)
		return err
	})
	if err != nil {
		panic(err) // it is in the binary
	}
	files["index.html"] = preloading(files)
	return files
})

// preloading is the page with all modules named, so that the browser asks for
// them at once, rather than for each when it has read one that imports it.
func preloading(files map[string][]byte) []byte {
	var links []byte
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.HasSuffix(name, ".js") {
			links = fmt.Appendf(links, "<link rel=\"modulepreload\" href=%q>\n", name)
		}
	}
	return bytes.Replace(files["index.html"], []byte("<!-- modules -->"), links, 1)
}
