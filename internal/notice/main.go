// Notice writes NOTICE: whose work is linked into what we give away, and under
// which licences. It refuses licences that would bind a user's program.
//
//	go run ./internal/notice            # writes NOTICE
//	go run ./internal/notice --check    # compares it with what is linked
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A part is one module that is linked, or the library of Go.
type part struct {
	name, version string
	texts         []string // its licences and notices, whole
	kinds         []string
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "notice:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	parts, err := linked()
	if err != nil {
		return err
	}
	text := page(parts)
	if !slices.Contains(args, "--check") {
		return os.WriteFile("NOTICE", text, 0o666)
	}
	have, err := os.ReadFile("NOTICE")
	if err != nil {
		return err
	}
	if !bytes.Equal(have, text) {
		return errors.New("NOTICE is not of what is linked: go run ./internal/notice writes it")
	}
	return nil
}

// linked are the modules of the command and of the packages that others
// import, on each system where all of them are built, and of the guest.
func linked() ([]part, error) {
	dirs := map[string]string{} // of "module version"
	for _, build := range []struct {
		os, arch string
		packages []string
	}{
		{"linux", "amd64", []string{"./cmd/...", "./host/...", "./native/...", "./sdk/...", "./wasm"}},
		{"darwin", "arm64", []string{"./cmd/..."}},
		{"windows", "amd64", []string{"./cmd/..."}},
		{"wasip1", "wasm", []string{"-tags=gridhold_guest", "./wasm/guest"}},
	} {
		c := exec.Command("go", append([]string{"list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}"}, build.packages...)...)
		c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+build.os, "GOARCH="+build.arch)
		c.Stderr = os.Stderr
		out, err := c.Output()
		if err != nil {
			return nil, fmt.Errorf("go list for %s: %w", build.os, err)
		}
		for line := range strings.Lines(string(out)) {
			if module, dir, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
				dirs[module] = dir
			}
		}
	}
	own, err := goLicence()
	if err != nil {
		return nil, err
	}
	parts := []part{{name: "The library and runtime of Go", texts: own}}
	for module, dir := range dirs {
		name, version, _ := strings.Cut(module, " ")
		texts, err := texts(dir)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", module, err)
		}
		parts = append(parts, part{name: name, version: version, texts: texts})
	}
	slices.SortFunc(parts[1:], func(a, b part) int { return strings.Compare(a.name, b.name) })
	for i, p := range parts {
		kinds, err := kinds(p.texts)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", p.name, p.version, err)
		}
		parts[i].kinds = kinds
	}
	return parts, nil
}

// texts reads what a module says of its rights, at its root.
func texts(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		if e.IsDir() || !slices.ContainsFunc([]string{"LICENSE", "LICENCE", "COPYING", "NOTICE", "COPYRIGHT"}, func(s string) bool { return strings.HasPrefix(name, s) }) {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		all = append(all, strings.TrimSpace(strings.ReplaceAll(string(b), "\r\n", "\n")))
	}
	if len(all) == 0 {
		return nil, errors.New("no licence")
	}
	return all, nil
}

// page lists the parts, then the texts, each once.
func page(parts []part) []byte {
	var b bytes.Buffer
	b.WriteString(`Gridhold
Copyright the authors of Gridhold. Licensed under the Apache License, Version 2.0: see LICENSE.

What is linked into the command, into programs that use the Go packages, and into wasm/gridhold.wasm (which takes the library of Go alone), is listed here with its
licences. The packages for Python and JavaScript bring wasm/gridhold.wasm and nothing else of others; what they ask for, their users install.
"go run ./internal/notice" writes this file, and "make check" compares it.

`)
	var order []string
	where := map[string]int{}
	for _, p := range parts {
		fmt.Fprintf(&b, "%s", p.name)
		if p.version != "" {
			fmt.Fprintf(&b, " %s", p.version)
		}
		fmt.Fprintf(&b, ": %s", strings.Join(p.kinds, ", "))
		for _, text := range p.texts {
			if where[text] == 0 {
				order = append(order, text)
				where[text] = len(order)
			}
			fmt.Fprintf(&b, " [%d]", where[text])
		}
		b.WriteString("\n")
	}
	for i, text := range order {
		fmt.Fprintf(&b, "\n%s\n[%d]\n\n%s\n", strings.Repeat("-", 80), i+1, text)
	}
	return b.Bytes()
}

// goLicence is the file LICENSE of this Go.
func goLicence() ([]string, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "LICENSE"))
	if err != nil {
		return nil, err
	}
	return []string{strings.TrimSpace(string(b))}, nil
}
