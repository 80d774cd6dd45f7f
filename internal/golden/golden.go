// Package golden reads the manifests of testdata: arrays and groups that
// other libraries wrote, with the sha256 of what they hold, and damaged
// copies of some of them with the way a reader has to end.
//
// It is for tests and for the program that cuts the fixtures down; nothing
// that ships imports it.
package golden

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Manifest is manifest.json: every array and group of a folder of fixtures.
type Manifest struct {
	MadeWith  map[string]string `json:"made_with"`
	Canonical string            `json:"canonical"` // the form that SHA256 is taken of
	Nodes     []Node            `json:"arrays"`
}

// Node is one array, or one group, of the manifest.
type Node struct {
	Name       string            `json:"name"`
	Path       string            `json:"path"` // of its directory, below the folder; slashes
	ZarrFormat int               `json:"zarr_format"`
	NodeType   string            `json:"node_type"` // "group"; "" for an array
	Shape      []int64           `json:"shape"`
	ChunkShape []int64           `json:"chunk_shape"` // nil: the grid is not regular
	DataType   json.RawMessage   `json:"data_type"`
	Codecs     json.RawMessage   `json:"codecs"`
	SHA256     string            `json:"sha256"` // of the whole array in canonical form
	Bytes      int64             `json:"nbytes_canonical"`
	Subchunk   []int64           `json:"subchunk_shape"`      // nil: not sharded
	Exclusive  bool              `json:"exclusively_sharded"` // sharding is the only codec
	Shards     *Shards           `json:"shards"`              // nil where no samples were taken
	Children   map[string]string `json:"children_sha256"`     // of a group: path to SHA256
}

// Shards says how an array is cut, with samples of its subchunks.
type Shards struct {
	PerShard     []int64  `json:"chunks_per_shard"`
	Grid         []int64  `json:"shard_grid"`
	SubchunkGrid []int64  `json:"subchunk_grid"`
	IndexBytes   int64    `json:"index_bytes"`
	Some         []Sample `json:"some"`
}

// Sample is one subchunk as it is stored.
type Sample struct {
	Subchunk      []int64 `json:"subchunk"`
	Key           string  `json:"shard_key"`
	InShard       []int64 `json:"in_shard"`
	Empty         bool    `json:"empty"`
	Off           int64   `json:"offset"`
	Len           int64   `json:"length"`
	EncodedSHA256 string  `json:"sha256_encoded"`
	ClippedShape  []int64 `json:"clipped_shape"`          // what of it lies inside the array
	DecodedSHA256 string  `json:"sha256_decoded_clipped"` // of that part
}

// Corrupt is one entry of corrupt.json: a damaged copy of a node.
type Corrupt struct {
	Name   string `json:"name"`
	Path   string `json:"path"`
	Base   string `json:"base"`   // Name of the node it was made of
	Expect string `json:"expect"` // begins with "reject" where every reader must fail
}

// Load reads manifest.json of a folder.
func Load(dir string) (*Manifest, error) {
	m := new(Manifest)
	return m, load(filepath.Join(dir, "manifest.json"), m)
}

// LoadCorrupt reads corrupt.json of a folder.
func LoadCorrupt(dir string) ([]Corrupt, error) {
	var c []Corrupt
	return c, load(filepath.Join(dir, "corrupt.json"), &c)
}

// Zarr returns testdata/zarr of the module that the working directory is in.
func Zarr() (string, error) {
	dir, err := Root()
	return filepath.Join(dir, "testdata", "zarr"), err
}

// Root returns the directory of the module that the working directory is in.
func Root() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("golden: no go.mod above the working directory")
		}
		dir = up
	}
	return "", err
}

func load(name string, v any) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, v)
}
