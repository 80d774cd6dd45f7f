package storagetest

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"testing"

	"github.com/gridhold/gridhold/sdk/storage"
)

// Contents returns what is in a file.
func Contents(t testing.TB, fs storage.FS, name string) []byte {
	t.Helper()
	f, err := fs.Open(t.Context(), name, storage.OpenRead)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, info.Size)
	if n, err := f.ReadAt(b, 0); n < len(b) {
		t.Fatal(err)
	}
	return b
}

// Zip returns an archive of the files, which are stored.
func Zip(t testing.TB, files fs.FS) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		part, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err == nil {
			_, err = part.Write(data)
		}
		return err
	})
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
