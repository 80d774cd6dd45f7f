package golden

import (
	"encoding/json"
	"path/filepath"
)

// ImageManifest is manifest.json of the image files.
type ImageManifest struct {
	Files  []ImageFile  `json:"files"`
	Tables []ImageTable `json:"tables"`
}

// ImageFile is one image file, whole or damaged.
type ImageFile struct {
	File   string `json:"file"`
	Expect string `json:"expect"` // "ok", "ok:0-images" or "error:KIND"
	Mode   int32  `json:"mode"`
	Endian string `json:"endian"`
	NX     int64  `json:"nx"`
	NY     int64  `json:"ny"`
	NZ     int64  `json:"nz"`
	NSYMBT int32  `json:"nsymbt"`
	// Sections is how many sections one image has: more than one of a volume.
	Sections int64    `json:"sections_per_image"`
	Images   int64    `json:"images"`
	Type     string   `json:"decoded_type"`
	Note     string   `json:"note"`
	SHA256   []string `json:"image_sha256"` // of each image's pixels: little endian, C order
}

// ImageTable is one table that points at images.
type ImageTable struct {
	File      string          `json:"file"`
	Kind      string          `json:"kind"`
	Rows      int             `json:"rows"`
	Locations []ImageLocation `json:"locations"` // of each row, in order
}

// ImageLocation is the path of a file and an index from 0.
type ImageLocation struct {
	Path  string
	Index int64
}

// UnmarshalJSON reads [path, index].
func (l *ImageLocation) UnmarshalJSON(b []byte) error {
	pair := []any{&l.Path, &l.Index}
	return json.Unmarshal(b, &pair)
}

// LoadImages reads the manifest of the image files; dir is their folder.
func LoadImages() (dir string, m *ImageManifest, err error) {
	root, err := Root()
	if err != nil {
		return "", nil, err
	}
	dir = filepath.Join(root, "testdata", "images")
	m = new(ImageManifest)
	return dir, m, load(filepath.Join(dir, "manifest.json"), m)
}
