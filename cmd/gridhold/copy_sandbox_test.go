package main

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Copies that the sandbox makes of containers hold what those of the machine
// do, whatever they are made into; and so do copies of an inner node.
func TestCopyContainersInTheSandbox(t *testing.T) {
	at := func(name string) string { return filepath.Join(containers, filepath.FromSlash(name)) }
	for _, tc := range []struct {
		flags     []string
		src, dst  string
		key, leaf string // of what is compared, in the source and in the copy
	}{
		{nil, at("ndim/2d.b2nd"), "a.b2nd", "", ""},
		{[]string{"--chunks", "20,20", "--blocks", "7,9", "--codec", "lz4:3", "--checksums"}, at("ndim/2d.b2nd"), "b.b2nd", "", ""},
		{nil, at("schunk/one.b2frame"), "s.b2f", "", ""},
		{nil, at("ndim/2d.b2nd"), "a.zarr", "", ""},
		{nil, at("store/tree.b2d"), "t.b2d", "/a/b/c", "/a/b/c"},
		{nil, at("store/tree.b2d"), "t.b2z", "/a/e", "/a/e"},
		{nil, at("store/tree.b2d"), "t.zarr", "/a/b/d", "/a/b/d"},
		{nil, at("store/dict-ext.b2z"), "d.b2d", "/node1", "/node1"},
		{[]string{"--key", "/a"}, at("store/tree.b2d"), "n.b2d", "/a/b/d", "/b/d"},
		{[]string{"--key", "/a"}, at("store/tree.b2z"), "n.zarr", "/a/b/c", "/b/c"},
	} {
		var described [2]map[string]any
		for i, engine := range []string{"native", "wasm"} {
			dst := filepath.Join(t.TempDir(), tc.dst)
			copied(t, append(append([]string{"--engine", engine}, tc.flags...), tc.src, dst)...)
			read := func(name, key string) []string {
				switch {
				case key == "":
					return []string{name}
				case filepath.Ext(name) == ".zarr":
					return []string{"--path", key[1:], name}
				}
				return []string{"--key", key, name}
			}
			same(t, read(tc.src, tc.key), read(dst, tc.leaf))
			status, out, errs := here(t, "info", "--json", dst)
			require.Zero(t, status, errs)
			require.NoError(t, json.Unmarshal(out, &described[i]))
			for _, of := range []string{"cbytes", "ratio", "dead"} { // the sandbox packs otherwise
				delete(described[i], of)
			}
		}
		require.Equal(t, described[0], described[1], "%v", tc)
	}
	for _, engine := range []string{"native", "wasm"} {
		for _, refused := range [][]string{
			{at("store/tree.b2d"), "x.b2nd"}, {"--key", "/a", at("store/tree.b2d"), "x.b2nd"}, {at("schunk/one.b2frame"), "x.zarr"},
			{at("corrupt/chunk-bstart-oob.b2nd"), "x.b2nd"},
		} {
			last := len(refused) - 1
			refused[last] = filepath.Join(t.TempDir(), refused[last])
			status, _, errs := here(t, append([]string{"copy", "--engine", engine}, refused...)...)
			require.Equal(t, 1, status, "%s %v: %s", engine, refused, errs)
			require.NoFileExists(t, refused[last])
		}
	}
}
