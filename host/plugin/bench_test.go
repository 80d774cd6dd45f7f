package plugin_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/host/plugin"
)

// BenchmarkInterruption decodes chunks of testdata, and what they become when
// they are repeated, with each way to interrupt a plugin.
func BenchmarkInterruption(b *testing.B) {
	for _, load := range loads(b) {
		for _, how := range []plugin.Interruption{plugin.Never, plugin.Counter, plugin.Runtime} {
			b.Run(load.name+"/"+how.String(), func(b *testing.B) {
				p := opened(b, load.plugin, plugin.Options{Interruption: how, Instances: 1})
				run := load.run(b, p)
				b.SetBytes(int64(load.size))
				for b.Loop() {
					run()
				}
			})
		}
	}
}

// load is some work for one of the example plugins.
type load struct {
	name, plugin string
	size         int // decoded
	run          func(t testing.TB, p *plugin.Plugin) func()
}

func loads(t testing.TB) []load {
	t.Helper()
	type chunk struct{ name, plugin, codec, array, key string }
	var out []load
	for _, c := range []chunk{
		{"lzw", "tiff", "imagecodecs_lzw", "lzw.zarr", "0.0"},
		{"packbits", "tiff", "imagecodecs_packbits", "packbits.zarr", "0.0"},
		{"aec-8", "aec", "imagecodecs_aec", "aec-8-8.zarr", "0.0"},
		{"aec-12", "aec", "imagecodecs_aec", "aec-12-8.zarr", "0.0"},
		{"aec-16", "aec", "imagecodecs_aec", "aec-16-9.zarr", "0.0"},
		{"aec-32", "aec", "imagecodecs_aec", "aec-32-9.zarr", "0.0"},
	} {
		src, err := os.ReadFile(filepath.Join(dir, "arrays", c.array, c.key))
		require.NoError(t, err)
		raw, err := os.ReadFile(filepath.Join(dir, "arrays", c.array, ".zarray"))
		require.NoError(t, err)
		var meta struct{ Compressor json.RawMessage }
		require.NoError(t, json.Unmarshal(raw, &meta))
		const most = 1 << 16
		l := load{name: c.name, plugin: c.plugin}
		l.run = func(t testing.TB, p *plugin.Plugin) func() {
			codec, err := p.BytesCodec(c.codec, meta.Compressor)
			require.NoError(t, err)
			dst := make([]byte, 0, most)
			return func() {
				out, err := codec.Decode(context.Background(), dst, src, most)
				if err != nil || len(out) == 0 {
					t.Fatal(err)
				}
			}
		}
		p := opened(t, c.plugin, plugin.Options{})
		codec, err := p.BytesCodec(c.codec, meta.Compressor)
		require.NoError(t, err)
		got, err := codec.Decode(context.Background(), nil, src, most)
		require.NoError(t, err)
		l.size = len(got)
		out = append(out, l)
	}
	return out
}
