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

// places are the texts of tests, by the place that pages call them by: a
// package, or a file.
type places map[string]string

func (p places) text(t *testing.T, place string) string {
	t.Helper()
	if text, known := p[place]; known {
		return text
	}
	names := []string{filepath.Join("..", place)}
	if !strings.Contains(filepath.Base(place), ".") {
		var err error
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
	p[place] = string(all)
	return string(all)
}

var naming = regexp.MustCompile("`([^`]+)`|\"([^\"]+)\"")

// tests holds a cell to the tests that it names, each after its place, and
// returns how many those are.
func (p places) tests(t *testing.T, cell string) (named int) {
	t.Helper()
	place := ""
	for _, m := range naming.FindAllStringSubmatch(cell, -1) {
		switch name := m[1]; {
		case m[2] != "":
			require.Contains(t, p.text(t, place), "'"+m[2]+"'", cell)
			named++
		case strings.HasPrefix(name, "Test"), strings.HasPrefix(name, "Fuzz"):
			require.Contains(t, p.text(t, place), "\nfunc "+name+"(", "%s: %s", place, cell)
			named++
		case strings.HasPrefix(name, "test_"):
			require.Contains(t, p.text(t, place), "\ndef "+name+"(", "%s: %s", place, cell)
			named++
		case strings.HasPrefix(name, "_"), strings.HasPrefix(name, "make "): // of the contract of the guest; a target
		default:
			place = name
		}
	}
	return named
}

// Every test that docs/faults.md names is there, and so is every fault, once.
func TestFaultsPage(t *testing.T) {
	page, err := os.ReadFile("../docs/faults.md")
	require.NoError(t, err)
	row := regexp.MustCompile(`^\| (\d+) \| [^|]+ \| (.+) \|$`)
	sources := places{}
	var numbers []int
	for line := range strings.Lines(string(page)) {
		cells := row.FindStringSubmatch(strings.TrimSpace(line))
		if cells == nil {
			continue
		}
		n, err := strconv.Atoi(cells[1])
		require.NoError(t, err)
		numbers = append(numbers, n)
		require.Positive(t, sources.tests(t, cells[2]), "report %d", n)
	}
	require.Len(t, numbers, 76)
	require.True(t, slices.IsSorted(numbers))
	require.Len(t, slices.Compact(numbers), 76)
}
