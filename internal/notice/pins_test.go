package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whatever is fetched to build, test or measure is of one version.
func TestPins(t *testing.T) {
	out, err := exec.Command("git", "-C", "../..", "ls-files").Output()
	if err != nil {
		t.Skip("not a checkout")
	}
	exact := regexp.MustCompile(`^\d[\w.+-]*$`)
	requirement := regexp.MustCompile(`^[\w.\-\[\]]+==[\w.+]+( ; .+)?$`)
	tool := regexp.MustCompile(`go (?:run|install) "?[\w.\-/]+@(\S+)`)
	seen := 0
	for name := range strings.Lines(string(out)) {
		name = strings.TrimSpace(name)
		base := name[strings.LastIndexByte(name, '/')+1:]
		read := func() string {
			b, err := os.ReadFile("../../" + name)
			require.NoError(t, err)
			return string(b)
		}
		switch {
		case strings.HasPrefix(base, "requirements") && strings.HasSuffix(base, ".txt"):
			lock, err := os.ReadFile("../../" + strings.TrimSuffix(name, ".txt") + ".lock")
			require.NoError(t, err, "make lock")
			for line := range strings.Lines(read()) {
				if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
					require.Regexp(t, requirement, line, name)
					pin, _, _ := strings.Cut(strings.ReplaceAll(line, "_", "-"), " ")
					require.Contains(t, "\n"+string(lock), "\n"+pin+" ", "make lock")
					seen++
				}
			}
		case base == "package.json":
			var p struct{ Dependencies, DevDependencies map[string]string }
			require.NoError(t, json.Unmarshal([]byte(read()), &p), name)
			if name == "bindings/js/package.json" {
				require.Empty(t, p.Dependencies, "what is given away asks for nothing")
			}
			for _, deps := range []map[string]string{p.Dependencies, p.DevDependencies} {
				for dep, version := range deps {
					if !strings.HasPrefix(version, "file:") {
						require.Regexp(t, exact, version, "%s: %s", name, dep)
						seen++
					}
				}
			}
		case strings.HasSuffix(name, ".sh"):
			for _, m := range tool.FindAllStringSubmatch(read(), -1) {
				require.Regexp(t, `^(v\d|\$version)`, m[1], name)
				seen++
			}
		}
	}
	require.Greater(t, seen, 20)
}
