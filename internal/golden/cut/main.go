// Command cut copies those fixtures out of a full set that are within what
// Gridhold reads (golden.InSlice), with the manifests cut down to them.
//
//	go run ./internal/golden/cut FROM TO
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gridhold/gridhold/internal/golden"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: cut FROM TO")
		os.Exit(2)
	}
	if err := cut(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "cut:", err)
		os.Exit(1)
	}
}

func cut(from, to string) error {
	var manifest map[string]json.RawMessage
	if err := load(filepath.Join(from, "manifest.json"), &manifest); err != nil {
		return err
	}
	taken := map[string]bool{}
	nodes, err := keep(manifest["arrays"], from, to, func(text []byte) (path string, ok bool, err error) {
		var n golden.Node
		err = json.Unmarshal(text, &n)
		taken[n.Name] = golden.InSlice(n, func(child string) ([]byte, error) {
			return os.ReadFile(filepath.Join(from, n.Path, child, "zarr.json"))
		})
		return n.Path, taken[n.Name], err
	})
	if err != nil {
		return err
	}
	manifest["arrays"] = nodes
	if err := store(filepath.Join(to, "manifest.json"), manifest); err != nil {
		return err
	}

	var all json.RawMessage
	if err := load(filepath.Join(from, "corrupt.json"), &all); err != nil {
		return err
	}
	damaged, err := keep(all, from, to, func(text []byte) (path string, ok bool, err error) {
		var c golden.Corrupt
		err = json.Unmarshal(text, &c)
		return c.Path, taken[c.Base], err
	})
	if err != nil {
		return err
	}
	return store(filepath.Join(to, "corrupt.json"), damaged)
}

// keep copies the directories of those entries of a list that choose takes,
// and returns the list of them.
func keep(list json.RawMessage, from, to string, choose func(text []byte) (path string, ok bool, err error)) (json.RawMessage, error) {
	var entries, kept []json.RawMessage
	if err := json.Unmarshal(list, &entries); err != nil {
		return nil, err
	}
	for _, text := range entries {
		path, ok, err := choose(text)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		kept = append(kept, text)
		if err := os.RemoveAll(filepath.Join(to, path)); err != nil {
			return nil, err
		}
		if err := copyDir(filepath.Join(to, path), filepath.Join(from, path)); err != nil {
			return nil, err
		}
	}
	return json.Marshal(kept)
}

// copyDir is os.CopyFS without the modes of the source, which may be read only.
func copyDir(to, from string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		dst, src := filepath.Join(to, e.Name()), filepath.Join(from, e.Name())
		if e.IsDir() {
			err = copyDir(dst, src)
		} else if b, readErr := os.ReadFile(src); readErr != nil {
			err = readErr
		} else {
			err = os.WriteFile(dst, b, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func load(name string, v any) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, v)
}

func store(name string, v any) error {
	compact, err := json.Marshal(v)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, compact, "", " "); err != nil {
		return err
	}
	b.WriteByte('\n')
	return os.WriteFile(name, b.Bytes(), 0o644)
}
