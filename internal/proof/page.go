package proof

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

const head = `# Counts

What long runs of our own tests tried, and what came of it. ` + "`make proof`" + ` makes this page of the files in [docs/proof](proof/README.md), which the
programs below write; a test holds it to them, and fails for a file in which something was lost, torn, duplicated or wrong, or that counted a panic, a leak or a hang.
What the guarantees are that were tried: [guarantees.md](guarantees.md).
`

// Page is the text of docs/proof.md.
func Page(files []File) string {
	var b strings.Builder
	b.WriteString(head)
	total := map[string]int64{}
	for _, f := range files {
		for _, r := range f.Records {
			for name, n := range r.Counts {
				if Sum(name) {
					total[name] += n
				}
			}
		}
	}
	if len(files) > 0 {
		b.WriteString("\n## Altogether\n\n")
		table(&b, total)
	}
	for _, f := range files {
		for _, r := range f.Records {
			fmt.Fprintf(&b, "\n## %s\n\n`%s`, %s", r.What, r.Command, r.When.UTC().Format("2 January 2006"))
			if r.Machine != "" {
				b.WriteString(", " + r.Machine)
			}
			fmt.Fprintf(&b, " ([%s](proof/%[1]s))\n\n", f.Name)
			table(&b, r.Counts)
			if len(r.Found) == 0 {
				b.WriteString("\nThis run found nothing.\n")
				continue
			}
			b.WriteString("\nFound:\n\n")
			for _, s := range r.Found {
				fmt.Fprintf(&b, "* %s\n", strings.ReplaceAll(s, "\n", " "))
			}
		}
	}
	return b.String()
}

// table lists what was done first, then what must not happen and did not.
func table(b *strings.Builder, counts map[string]int64) {
	b.WriteString("| | |\n| --- | ---: |\n")
	names := slices.Sorted(maps.Keys(counts))
	for _, bad := range []bool{false, true} {
		for _, name := range names {
			if Never(name) == bad {
				fmt.Fprintf(b, "| %s | %s |\n", name, grouped(counts[name]))
			}
		}
	}
}

// grouped writes a number with commas between its thousands.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
