package plugin

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// FuzzDescription: what a plugin says of itself and of an array, in any words,
// is refused, or is what the host shows and opens.
func FuzzDescription(f *testing.F) {
	for _, text := range []string{
		`{"name":"tiff","version":"1.0","codecs":[{"names":["imagecodecs_packbits"],"blosc2":240,"encodes":true,"times":2,"plus":16}],"reader":{"suffixes":[".npy"]}}`,
		`{"shape":[4],"data_type":"uint8","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[4]}},"codecs":[{"name":"bytes"}],"fill_value":0}`,
		`{"name":"a\u001b[2J"}`, `{"name":"x","reader":{}}`, `{"name":"x","codecs":[{"names":["gzip"]}]}`,
	} {
		f.Add([]byte(text))
	}
	p := &Plugin{contract: contract{exports: []string{"gp_decode", "gp_encode", "gp_describe", "gp_chunk"}}}
	f.Fuzz(func(t *testing.T, text []byte) {
		var a About
		if json.Unmarshal(text, &a) == nil {
			if err := p.check(a); err == nil {
				require.True(t, proper(a.Name))
				for _, c := range a.Codecs {
					for _, name := range c.Names {
						require.True(t, proper(name))
						require.False(t, isBuiltIn(name))
					}
				}
			} else {
				require.Contains(t, []fault.Code{fault.CodeCorrupt, fault.CodeExists}, fault.CodeOf(err))
			}
		}
		metadata, err := p.metadata(text)
		if err != nil {
			require.ErrorIs(t, err, fault.ErrCorrupt)
			return
		}
		m := storage.NewMemory()
		m.Set("zarr.json", metadata)
		if _, err := zarr.OpenArray(t.Context(), m, "", zarr.Options{}); err != nil {
			require.Contains(t, []fault.Code{fault.CodeCorrupt, fault.CodeUnsupported, fault.CodeLimit}, fault.CodeOf(err), err)
		}
	})
}
