package house_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every promise of docs/guarantees.md, and every repair of
// docs/correctness.md, names tests that are there.
func TestGuaranteesPage(t *testing.T) {
	row := regexp.MustCompile(`^\| .+ \| (.+) \|$`)
	sources := places{}
	for page, head := range map[string]string{
		"guarantees.md":  "| promised | held by |",
		"correctness.md": "| what went wrong | shown by |",
	} {
		text, err := os.ReadFile("../docs/" + page)
		require.NoError(t, err)
		held, within := 0, false
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSpace(line)
			switch cells := row.FindStringSubmatch(line); {
			case cells == nil:
				within = false
			case line == head:
				within = true
			case within && cells[1] != "---":
				require.Positive(t, sources.tests(t, cells[1]), line)
				held++
			}
		}
		require.Greater(t, held, 30, page)
	}
}
