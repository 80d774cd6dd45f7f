package plugin

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The page and the code have the same exports, imports and version.
func TestPage(t *testing.T) {
	b, err := os.ReadFile("../../docs/abi.md")
	require.NoError(t, err)
	_, page, ok := strings.Cut(string(b), "\n## Plugins\n")
	require.True(t, ok)
	require.Contains(t, page, "**version "+strconv.Itoa(Major)+"."+strconv.Itoa(Minor)+"**")
	row := regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| `\\(([^)]*)\\)([^`]*)` \\|")
	found := 0
	for _, m := range row.FindAllStringSubmatch(page, -1) {
		params, results := 0, 0
		if m[2] != "" {
			params = len(strings.Split(m[2], ","))
		}
		if m[3] != "" {
			results = 1
		}
		found++
		if e, ok := exports[m[1]]; ok {
			require.Equal(t, []int{e.params, e.results}, []int{params, results}, m[1])
			continue
		}
		i, ok := imports[m[1]]
		require.True(t, ok, m[1])
		require.Equal(t, []int{i.params, i.results}, []int{params, results}, m[1])
	}
	require.Equal(t, len(exports)+len(imports), found)
}

// The limits that docs/plugins.md promises are those that hold.
func TestLimitsAsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/plugins.md")
	require.NoError(t, err)
	mib := func(n int64) string { return strconv.FormatInt(n>>20, 10) + " MiB" }
	o, err := Options{}.withDefaults()
	require.NoError(t, err)
	for _, text := range []string{
		"`Options.Deadline` (" + strconv.Itoa(int(o.Deadline/time.Second)) + " s)",
		"`Options.Stack` (" + mib(int64(o.Stack)),
		"`Options.Memory` (" + mib(o.Memory),
		"`Options.Tables` (" + strconv.Itoa(o.Tables),
		"`Options.Module` (" + mib(int64(o.Module)),
		"`Options.Read` (" + mib(o.Read),
		"`Options.Work` (" + strconv.Itoa(o.Work),
	} {
		require.Contains(t, string(page), text)
	}
}
