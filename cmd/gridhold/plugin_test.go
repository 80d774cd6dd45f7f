package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const pluginDir = "../../testdata/plugins"

func pluginNamed(name string) string { return filepath.Join(pluginDir, name+".wasm") }

func pluginArray(name string) string { return filepath.Join(pluginDir, "arrays", name) }

func TestPluginCheck(t *testing.T) {
	r := gridhold(t, "plugin", "check", pluginNamed("tiff"))
	require.Zero(t, r.status, r.stderr)
	require.Contains(t, string(r.stdout), "name: tiff\n")
	require.Contains(t, string(r.stdout), "imports: []\n")
	require.Contains(t, string(r.stdout), "interruption: counter\n")
	require.Contains(t, string(r.stdout), "codec imagecodecs_packbits: unpacks what it packs: ok\n")

	r = gridhold(t, "plugin", "check", "--json", pluginNamed("npy"))
	require.Zero(t, r.status, r.stderr)
	var d struct {
		Imports, Reads []string
		Checks         []struct{ Result string }
	}
	require.NoError(t, json.Unmarshal(r.stdout, &d))
	require.Equal(t, []string{"gridhold_plugin.read"}, d.Imports)
	require.Equal(t, []string{".npy"}, d.Reads)
	require.Len(t, d.Checks, 2)

	r = gridhold(t, "plugin", "check", pluginNamed("hostile/odd"))
	require.Zero(t, r.status, r.stderr)
	require.Contains(t, string(r.stdout), "interruption: runtime, since the counter cannot be: ")

	for name, why := range map[string]string{
		"hostile/exit":   `imports "wasi_snapshot_preview1.proc_exit"`,
		"hostile/tables": "tables of more elements than 65536",
		"hostile/wild":   "allocates what is not in its memory",
		"nothing":        "no such file",
	} {
		r := gridhold(t, "plugin", "check", pluginNamed(name))
		require.Equal(t, statusFailed, r.status, name)
		require.Contains(t, r.stderr, why)
	}
	require.Zero(t, gridhold(t, "plugin", "check", "--grant", "wasi", pluginNamed("hostile/exit")).status)
	require.Equal(t, statusUsage, gridhold(t, "plugin", "check", "--grant", "everything", pluginNamed("tiff")).status)
	r = gridhold(t, "plugin", "check", "--deadline", "100ms", pluginNamed("hostile/start"))
	require.Equal(t, statusFailed, r.status)
	require.Contains(t, r.stderr, "took longer than 100ms")
}

// A plugin whose sample is not what it unpacks.
func TestPluginCheckFails(t *testing.T) {
	b, err := os.ReadFile(pluginNamed("tiff"))
	require.NoError(t, err)
	for i := range b {
		if string(b[i:min(i+11, len(b))]) == `"decoded":"` {
			b[i+11] = "AB"[b[i+11]&1]
			break
		}
	}
	name := filepath.Join(t.TempDir(), "bad.wasm")
	require.NoError(t, os.WriteFile(name, b, 0o600))
	r := gridhold(t, "plugin", "check", name)
	require.Equal(t, statusDamaged, r.status, r.stdout)
	require.Contains(t, string(r.stdout), "unpacks its sample of 300 bytes: plugin: tiff: other bytes come out")
}

func TestPluginOfCodecs(t *testing.T) {
	src := pluginArray("lzw.zarr")
	for _, command := range []string{"info", "verify"} {
		require.NotZero(t, gridhold(t, command, src).status, "%s without the plugin", command)
		r := gridhold(t, command, src, "--plugin", pluginNamed("tiff"), "--plugin", pluginNamed("aec"))
		require.Zero(t, r.status, r.stderr)
	}
	want := gridhold(t, "read", src, "--plugin", pluginNamed("tiff"))
	require.Zero(t, want.status, want.stderr)
	require.Len(t, want.stdout, 60*90*2)
	for _, name := range []string{"copy.zarr", "copy.b2nd", "copy.b2z"} {
		dst := filepath.Join(t.TempDir(), name)
		r := gridhold(t, "copy", src, dst, "--plugin", pluginNamed("tiff"))
		require.Zero(t, r.status, r.stderr)
		args := []string{"read", dst}
		if name == "copy.b2z" {
			args = append(args, "--key", "data")
		}
		r = gridhold(t, args...) // the copy needs no plugin
		require.Zero(t, r.status, r.stderr)
		require.Equal(t, want.stdout, r.stdout, name)
	}
	r := gridhold(t, "read", src, "--plugin", pluginNamed("nothing"))
	require.Equal(t, statusFailed, r.status)
	require.Contains(t, r.stderr, "nothing.wasm")
}

func TestPluginOfBlosc2(t *testing.T) {
	src := pluginArray("packbits.b2nd")
	require.NotZero(t, gridhold(t, "read", src).status)
	r := gridhold(t, "read", src, "--plugin", pluginNamed("tiff"))
	require.Zero(t, r.status, r.stderr)
	require.Len(t, r.stdout, 50*128*2)
	r = gridhold(t, "verify", src, "--plugin", pluginNamed("tiff"))
	require.Zero(t, r.status, r.stderr)
}

// A foreign format is an array for every command, and for either engine.
func TestPluginOfReader(t *testing.T) {
	src, with := pluginArray("fortran.npy"), []string{"--plugin", pluginNamed("npy")}
	want := gridhold(t, append([]string{"read", src}, with...)...)
	require.Zero(t, want.status, want.stderr)
	require.Len(t, want.stdout, 9*4*6*4)
	for _, engine := range []string{"native", "wasm"} {
		with := append(with, "--engine", engine)
		r := gridhold(t, append([]string{"info", src}, with...)...)
		require.Zero(t, r.status, r.stderr)
		require.Contains(t, string(r.stdout), "shape: [9,4,6]\n")
		require.Equal(t, want.stdout, gridhold(t, append([]string{"read", src}, with...)...).stdout)
	}
	r := gridhold(t, append([]string{"verify", src}, with...)...)
	require.Zero(t, r.status, r.stderr)
	dst := filepath.Join(t.TempDir(), "copy.zarr")
	r = gridhold(t, append([]string{"copy", src, dst, "--shards", "9,4,6", "--chunks", "3,4,6"}, with...)...)
	require.Zero(t, r.status, r.stderr)
	require.Equal(t, want.stdout, gridhold(t, "read", dst).stdout)
}
