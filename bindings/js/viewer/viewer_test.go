package viewer_test

import (
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/bindings/js/viewer"
)

// The page is whole: what its files name is there, and nothing of elsewhere.
func TestFiles(t *testing.T) {
	files := viewer.Files()
	named := regexp.MustCompile(`(?:from |import |import\(|href=|src=)["'](\.{0,2}/?[\w./-]+\.(?:js|css|wasm))["']`)
	found := 0
	for name, text := range files {
		if strings.HasSuffix(name, ".wasm") {
			continue
		}
		for _, m := range named.FindAllStringSubmatch(string(text), -1) {
			require.Contains(t, files, path.Join(path.Dir(name), m[1]), name)
			found++
		}
		require.NotRegexp(t, `(?:from|import|src=|@import)\s*["'(]*https?:`, string(text), name)
	}
	require.Greater(t, found, 50)
	page := string(files["index.html"])
	require.Contains(t, page, `<link rel="modulepreload" href="gridhold/index.js">`)
	require.NotContains(t, page, "<script>", "the policy runs what has an address only")
	require.NotContains(t, page, "style=")
}
