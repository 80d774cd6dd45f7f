package storagetest

import (
	"context"
	"io"
	"slices"
	"testing"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

const (
	readOnly = storage.OpenRead
	update   = storage.OpenRead | storage.OpenWrite
	create   = update | storage.OpenCreate
)

// FS holds an adapter to what storage.FS and storage.File say. open makes an
// empty file system; it registers its own clean-up.
func FS(t *testing.T, open func(t *testing.T) storage.FS) {
	for _, tc := range []struct {
		name string
		run  func(t *testing.T, fs storage.FS)
	}{
		{"open", testOpen}, {"names", testNames}, {"rename", testRename}, {"read and write", testReadWrite},
		{"read only", testReadOnly}, {"space", testSpace}, {"copy", testCopy}, {"identity", testIdentity},
		{"lock range", testLockRange}, {"closed", testClosed}, {"writers at once", testWriters},
	} {
		t.Run(tc.name, func(t *testing.T) { tc.run(t, open(t)) })
	}
}

func openFile(t *testing.T, fs storage.FS, name string, flags storage.OpenFlag) storage.File {
	t.Helper()
	f, err := fs.Open(context.Background(), name, flags)
	noError(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

func put(t *testing.T, fs storage.FS, name string, data []byte) {
	t.Helper()
	f := openFile(t, fs, name, create|storage.OpenTruncate)
	n, err := f.WriteAt(data, 0)
	noError(t, err)
	if n != len(data) {
		t.Fatalf("%d bytes written of %d", n, len(data))
	}
	noError(t, f.Close())
}

func content(t *testing.T, fs storage.FS, name string) string {
	t.Helper()
	f := openFile(t, fs, name, readOnly)
	info, err := f.Stat()
	noError(t, err)
	b := make([]byte, info.Size+1)
	n, err := f.ReadAt(b, 0)
	isError(t, err, io.EOF)
	noError(t, f.Close())
	return string(b[:n])
}

func testOpen(t *testing.T, fs storage.FS) {
	ctx := context.Background()
	_, err := fs.Open(ctx, "f", readOnly)
	isError(t, err, fault.ErrNotFound)
	_, err = fs.Open(ctx, "f", update)
	isError(t, err, fault.ErrNotFound)
	_, err = fs.Open(ctx, "absent/f", create)
	isError(t, err, fault.ErrNotFound)
	put(t, fs, "f", []byte("text"))
	openFile(t, fs, "f", create)
	if got := content(t, fs, "f"); got != "text" {
		t.Fatalf("%q after opening again", got)
	}
	_, err = fs.Open(ctx, "f", create|storage.OpenExclusive)
	isError(t, err, fault.ErrExists)
	openFile(t, fs, "g", create|storage.OpenExclusive)
	openFile(t, fs, "f", update|storage.OpenTruncate)
	if got := content(t, fs, "f"); got != "" {
		t.Fatalf("%q after truncation", got)
	}
	noError(t, fs.Mkdir(ctx, "d"))
	_, err = fs.Open(ctx, "d", readOnly)
	isError(t, err, fault.ErrIO)
	_, err = fs.Open(ctx, "f/g", readOnly)
	isError(t, err, fault.ErrNotFound)
	done, cancel := context.WithCancel(ctx)
	cancel()
	_, err = fs.Open(done, "f", readOnly)
	isError(t, err, fault.ErrCancelled)
}

func testNames(t *testing.T, fs storage.FS) {
	ctx := context.Background()
	for _, name := range []string{"../f", "/f", "d/../f", ".", "a//b", "a\\b", "a\x00"} {
		_, err := fs.Open(ctx, name, create)
		isError(t, err, fault.ErrInvalid)
		isError(t, fs.Mkdir(ctx, name), fault.ErrInvalid)
		isError(t, fs.Remove(ctx, name), fault.ErrInvalid)
		isError(t, fs.Rename(ctx, name, "x"), fault.ErrInvalid)
		isError(t, fs.Rename(ctx, "x", name), fault.ErrInvalid)
		isError(t, fs.RenameNoReplace(ctx, "x", name), fault.ErrInvalid)
		_, err = fs.Stat(ctx, name)
		isError(t, err, fault.ErrInvalid)
	}
	noError(t, fs.Mkdir(ctx, "d"))
	isError(t, fs.Mkdir(ctx, "d"), fault.ErrExists)
	isError(t, fs.Mkdir(ctx, "absent/d"), fault.ErrNotFound)
	noError(t, fs.Mkdir(ctx, "d/e"))
	put(t, fs, "d/z", nil)
	put(t, fs, "d/a", nil)
	put(t, fs, "é 日", nil)
	for dir, want := range map[string][]string{"": {"d/", "é 日"}, "d": {"a", "e/", "z"}, "d/e": {}} {
		names, err := fs.List(ctx, dir)
		noError(t, err)
		if !slices.Equal(names, want) {
			t.Fatalf("%q: %q, want %q", dir, names, want)
		}
		noError(t, fs.SyncDir(ctx, dir))
	}
	_, err := fs.List(ctx, "absent")
	isError(t, err, fault.ErrNotFound)
	isError(t, fs.Remove(ctx, "d"), fault.ErrExists)
	isError(t, fs.Remove(ctx, "absent"), fault.ErrNotFound)
	for _, name := range []string{"d/e", "d/z", "d/a", "d"} {
		noError(t, fs.Remove(ctx, name))
		_, err := fs.Stat(ctx, name)
		isError(t, err, fault.ErrNotFound)
	}
	space, err := fs.StatFS(ctx, "")
	noError(t, err)
	if space.Free == 0 {
		t.Fatal("no space is free")
	}
}

func testRename(t *testing.T, fs storage.FS) {
	ctx := context.Background()
	put(t, fs, "a", []byte("a"))
	put(t, fs, "b", []byte("b"))
	isError(t, fs.RenameNoReplace(ctx, "a", "b"), fault.ErrExists)
	if got := content(t, fs, "b"); got != "b" {
		t.Fatalf("b is %q", got)
	}
	noError(t, fs.RenameNoReplace(ctx, "a", "c"))
	noError(t, fs.Rename(ctx, "c", "b"))
	if got := content(t, fs, "b"); got != "a" {
		t.Fatalf("b is %q after the rename", got)
	}
	for _, rename := range []func(context.Context, string, string) error{fs.Rename, fs.RenameNoReplace} {
		isError(t, rename(ctx, "a", "x"), fault.ErrNotFound)
		isError(t, rename(ctx, "b", "absent/x"), fault.ErrNotFound)
	}
	noError(t, fs.Mkdir(ctx, "d"))
	put(t, fs, "d/f", []byte("f"))
	noError(t, fs.Rename(ctx, "d", "e"))
	if got := content(t, fs, "e/f"); got != "f" {
		t.Fatalf("e/f is %q", got)
	}
	_, err := fs.Stat(ctx, "d/f")
	isError(t, err, fault.ErrNotFound)
	noError(t, fs.Mkdir(ctx, "empty"))
	for _, rename := range []func(context.Context, string, string) error{fs.Rename, fs.RenameNoReplace} {
		isError(t, rename(ctx, "e", "empty"), fault.ErrExists)
	}
	noError(t, fs.RenameNoReplace(ctx, "e", "d"))
}

func testIdentity(t *testing.T, fs storage.FS) {
	ctx := context.Background()
	put(t, fs, "f", []byte("old"))
	f := openFile(t, fs, "f", update)
	before, err := f.Stat()
	noError(t, err)
	byName, err := fs.Stat(ctx, "f")
	noError(t, err)
	if before.Links != 1 || before.Ino == 0 || byName.Ino != before.Ino || byName.Dev != before.Dev {
		t.Fatalf("%+v by file, %+v by name", before, byName)
	}
	noError(t, fs.Rename(ctx, "f", "g"))
	moved, err := fs.Stat(ctx, "g")
	noError(t, err)
	if moved.Ino != before.Ino {
		t.Fatal("renaming made another file")
	}
	put(t, fs, "h", []byte("new"))
	noError(t, fs.Rename(ctx, "h", "g"))
	gone, err := f.Stat()
	noError(t, err)
	if gone.Links != 0 || gone.Ino != before.Ino {
		t.Fatalf("%+v after it was replaced", gone)
	}
	b := make([]byte, 3)
	_, err = f.ReadAt(b, 0)
	noError(t, err)
	equalBytes(t, b, []byte("old"))
	dir, err := fs.Stat(ctx, "")
	noError(t, err)
	if !dir.Dir {
		t.Fatal("the root is no directory")
	}
}
