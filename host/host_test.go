package host_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/host"
	"github.com/gridhold/gridhold/sdk/storage"
)

// compiled is a compile cache for all tests of one run.
var compiled string

func TestMain(m *testing.M) {
	if os.Getenv("GRIDHOLD_HOST_CHILD") != "" {
		os.Exit(child())
	}
	dir, err := os.MkdirTemp("", "gridhold-host-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	compiled = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

func newSandbox(t testing.TB, c host.Config) *host.Sandbox {
	t.Helper()
	if c.CompileCache == "" {
		c.CompileCache = compiled
	}
	s, err := host.New(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// loadDir puts a directory into memory.
func loadDir(t testing.TB, dir string) *storage.Memory {
	t.Helper()
	m := storage.NewMemory()
	require.NoError(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		key, err := filepath.Rel(dir, p)
		m.Set(filepath.ToSlash(key), b)
		return err
	}))
	return m
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// plan is an array of uint16 in square shards that tests write for
// themselves.
type plan struct {
	shape, shard, sub int64
	codecs            []string // after bytes; "zstd", "crc32c" or none
	value             func(y, x int64) uint16
}

// object names a codec as metadata does.
func object(name string, configuration any) map[string]any {
	return map[string]any{"name": name, "configuration": configuration}
}

func (p plan) metadata(t testing.TB) []byte {
	inner := []any{object("bytes", map[string]any{"endian": "little"})}
	for _, c := range p.codecs {
		switch c {
		case "zstd":
			inner = append(inner, object(c, map[string]any{"level": 3, "checksum": false}))
		default:
			inner = append(inner, map[string]any{"name": c})
		}
	}
	index := []any{object("bytes", map[string]any{"endian": "little"}), map[string]any{"name": "crc32c"}}
	b, err := json.Marshal(map[string]any{
		"zarr_format": 3, "node_type": "array", "shape": []int64{p.shape, p.shape}, "data_type": "uint16", "fill_value": 0,
		"chunk_grid":         object("regular", map[string]any{"chunk_shape": []int64{p.shard, p.shard}}),
		"chunk_key_encoding": object("default", map[string]any{"separator": "/"}),
		"codecs": []any{object("sharding_indexed", map[string]any{
			"chunk_shape": []int64{p.sub, p.sub}, "codecs": inner, "index_codecs": index, "index_location": "end",
		})},
	})
	require.NoError(t, err)
	return b
}

// subchunk is the elements of one subchunk.
func (p plan) subchunk(y, x int64) []byte {
	b := make([]byte, 0, 2*p.sub*p.sub)
	for i := range p.sub {
		for j := range p.sub {
			b = binary.LittleEndian.AppendUint16(b, p.value(y*p.sub+i, x*p.sub+j))
		}
	}
	return b
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// shardOf is one shard as it is stored.
func (p plan) shardOf(t testing.TB, z *zstd.Encoder, sy, sx int64) []byte {
	per := p.shard / p.sub
	var data, index []byte
	for y := range per {
		for x := range per {
			b := p.subchunk(sy*per+y, sx*per+x)
			for _, c := range p.codecs {
				switch c {
				case "zstd":
					b = z.EncodeAll(b, nil)
				case "crc32c":
					b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
				}
			}
			index = binary.LittleEndian.AppendUint64(index, uint64(len(data)))
			index = binary.LittleEndian.AppendUint64(index, uint64(len(b)))
			data = append(data, b...)
		}
	}
	index = binary.LittleEndian.AppendUint32(index, crc32.Checksum(index, castagnoli))
	return append(data, index...)
}

// each calls set with every object of the array.
func (p plan) each(t testing.TB, set func(key string, b []byte)) {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderConcurrency(1))
	require.NoError(t, err)
	set("zarr.json", p.metadata(t))
	for y := range (p.shape + p.shard - 1) / p.shard {
		for x := range (p.shape + p.shard - 1) / p.shard {
			set(fmt.Sprintf("c/%d/%d", y, x), p.shardOf(t, z, y, x))
		}
	}
}

func (p plan) memory(t testing.TB) *storage.Memory {
	m := storage.NewMemory()
	p.each(t, m.Set)
	return m
}

// small has 4 x 4 shards of 8 x 8 subchunks of 128 bytes.
var small = plan{shape: 256, shard: 64, sub: 8, codecs: []string{"zstd"}, value: func(y, x int64) uint16 { return uint16(y*256 + x) }}
