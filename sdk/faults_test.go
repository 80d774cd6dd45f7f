package house_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every test that docs/faults.md names is there, and so is every fault, once.
func TestFaultsPage(t *testing.T) {
	page, err := os.ReadFile("../docs/faults.md")
	require.NoError(t, err)
	sources := map[string]string{}
	source := func(place string) string {
		if text, known := sources[place]; known {
			return text
		}
		names := []string{filepath.Join("..", place)}
		if !strings.Contains(filepath.Base(place), ".") {
			names, err = filepath.Glob(filepath.Join("..", place, "*_test.go"))
			require.NoError(t, err)
			require.NotEmpty(t, names, place)
		}
		var all []byte
		for _, name := range names {
			b, err := os.ReadFile(name)
			require.NoError(t, err)
			all = append(all, b...)
		}
		sources[place] = string(all)
		return string(all)
	}
	row := regexp.MustCompile(`^\| (\d+) \| [^|]+ \| (.+) \|$`)
	token := regexp.MustCompile("`([^`]+)`|\"([^\"]+)\"")
	var numbers []int
	for line := range strings.Lines(string(page)) {
		cells := row.FindStringSubmatch(strings.TrimSpace(line))
		if cells == nil {
			continue
		}
		n, err := strconv.Atoi(cells[1])
		require.NoError(t, err)
		numbers = append(numbers, n)
		place, named := "", 0
		for _, m := range token.FindAllStringSubmatch(cells[2], -1) {
			switch name := m[1]; {
			case m[2] != "":
				require.Contains(t, source(place), "'"+m[2]+"'", "report %d", n)
				named++
			case strings.HasPrefix(name, "Test"):
				require.Contains(t, source(place), "\nfunc "+name+"(", "report %d: %s", n, place)
				named++
			case strings.HasPrefix(name, "test_"):
				require.Contains(t, source(place), "\ndef "+name+"(", "report %d: %s", n, place)
				named++
			case strings.HasPrefix(name, "_"): // of the contract of the guest
			default:
				place = name
			}
		}
		require.Positive(t, named, "report %d", n)
	}
	require.Len(t, numbers, 76)
	require.True(t, slices.IsSorted(numbers))
	require.Len(t, slices.Compact(numbers), 76)
}
