package host

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/gridhold/gridhold/wasm"
)

// UserCompileCache is a directory for Config.CompileCache of the user's own;
// "" where there is none.
func UserCompileCache() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "gridhold", "wazero")
}

// The entries are wazero's: each is written under another name and renamed,
// and names the version that wrote it. But its checksum covers the code
// alone, and a damaged header would be run. So each entry has the hash of
// all of it beside it, in a file of the same name and this suffix, and one
// that does not match is removed before wazero sees it.
const sealSuffix = ".sha256"

// ofGuest is the directory within a compile cache for the guest of this build.
// All entries of a directory are hashed at each start, so those of other
// builds lie elsewhere.
func ofGuest(cache string) string {
	var built struct {
		SHA256 string `json:"sha256"`
	}
	if err := json.Unmarshal(wasm.Manifest, &built); err != nil || len(built.SHA256) < 16 {
		return cache
	}
	return filepath.Join(cache, built.SHA256[:16])
}

// prepareCache makes the directory, which only its owner can write, and
// removes entries that are not whole.
func prepareCache(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	// Read-only is no use, and wazero takes its failed write for a failure
	// compile; unless all is there already.
	probe, err := os.CreateTemp(dir, "probe.*.tmp")
	if err == nil {
		_ = probe.Close()
		_ = os.Remove(probe.Name())
	}
	eachEntry(dir, func(name string) {
		if seal, e := os.ReadFile(name + sealSuffix); e != nil || string(seal) != hashOf(name) {
			_ = os.Remove(name)
		}
	})
	return err
}

// sealCache writes the hash of each entry that has none.
func sealCache(dir string) {
	eachEntry(dir, func(name string) {
		if _, err := os.Stat(name + sealSuffix); err == nil {
			return
		}
		f, err := os.CreateTemp(filepath.Dir(name), "seal.*.tmp")
		if err != nil {
			return
		}
		_, err = f.WriteString(hashOf(name))
		if e := f.Close(); err == nil {
			err = e
		}
		if err == nil {
			err = os.Rename(f.Name(), name+sealSuffix)
		}
		if err != nil {
			_ = os.Remove(f.Name())
		}
	})
}

func emptyCache(dir string) {
	eachEntry(dir, func(name string) {
		_ = os.Remove(name)
		_ = os.Remove(name + sealSuffix)
	})
}

// eachEntry calls f with the path of each entry, which is named by a hash.
func eachEntry(dir string, f func(name string)) {
	found, _ := filepath.Glob(filepath.Join(dir, "*", "*"))
	for _, name := range found {
		base := filepath.Base(name)
		if len(base) == 2*sha256.Size && strings.Trim(base, "0123456789abcdef") == "" {
			f(name)
		}
	}
}

// hashOf returns the hash of a file, "" where it cannot be read. An entry has
// some 30 MB, so it is not read as a whole: of a program that reads little that
// was most of its memory.
func hashOf(name string) string {
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil))
}
