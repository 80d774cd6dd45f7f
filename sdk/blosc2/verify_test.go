package blosc2_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/blosc2"
)

// What is damaged is said once: the chunk and the block by the item, the rest
// by the text.
func TestDamageIsToldOnce(t *testing.T) {
	fs := openTestdata(t)
	for name, want := range map[string]blosc2.Damage{
		"chunk-bstart-oob":  {Item: "chunk 0 block 0", Off: -1, Text: "blosc: begins outside the chunk: corrupt"},
		"payload-zlib":      {Item: "chunk 0 block 0", Off: -1, Text: "zlib: the stream is damaged: corrupt"},
		"dict-size-zero":    {Item: "chunk 0", Off: -1, Text: "blosc: has a dictionary of 0 bytes: corrupt"},
		"chunk-filter-99":   {Item: "chunk 0", Off: -1, Text: "blosc: filter 99 is a plugin: unsupported", Unchecked: true},
		"index-offset-oob":  {Item: "chunk 8", Off: 1 << 40, Text: "frame: index at 1099511627776: a chunk outside the data: corrupt"},
		"chunk-udcodec-200": {Item: "chunk 0", Off: -1, Text: "blosc: codec 200 is a plugin: unsupported", Unchecked: true},
	} {
		c, err := blosc2.Open(t.Context(), fs, "corrupt/"+name+".b2nd", blosc2.Options{})
		require.NoError(t, err, name)
		list := damages(t, c)
		require.NotEmpty(t, list, name)
		require.Equal(t, want, list[0], name)
		require.NoError(t, c.Close())
	}
}
