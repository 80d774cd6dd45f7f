package host_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/host"
)

// Report 44: the pages say the limits that there are, in the words of a row.
func TestDefaultsAsDocumented(t *testing.T) {
	page := func(name string) string {
		b, err := os.ReadFile("../" + name)
		require.NoError(t, err)
		return string(b)
	}
	mib, gib := int64(1<<20), int64(1<<30)
	sandbox := page("docs/sandbox.md")
	for _, row := range []string{
		fmt.Sprintf("`DefaultMemory`, %d MiB |", host.DefaultMemory/mib),
		fmt.Sprintf("`DefaultDeadline`, %d minute |", host.DefaultDeadline/time.Minute),
		fmt.Sprintf("`DefaultRead`, %d GiB |", host.DefaultRead/gib),
		fmt.Sprintf("`DefaultOutput`, %d MiB |", host.DefaultOutput/mib),
		fmt.Sprintf("`DefaultObjects`, %d |", host.DefaultObjects),
	} {
		require.Contains(t, sandbox, row)
	}
	require.Contains(t, page("SECURITY.md"), fmt.Sprintf("| %d MiB, %d min, %d GiB, %d MiB, %d | `host.Config`, `host.Limits` |",
		host.DefaultMemory/mib, host.DefaultDeadline/time.Minute, host.DefaultRead/gib, host.DefaultOutput/mib, host.DefaultObjects))
}
