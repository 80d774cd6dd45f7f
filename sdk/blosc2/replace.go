package blosc2

import (
	"context"
	"errors"
	"path"

	"github.com/gridhold/gridhold/sdk/storage"
)

// written writes the whole of a new file and closes it.
func written(f storage.File, b []byte, sync bool) error {
	_, err := f.WriteAt(b, 0)
	if err == nil && sync {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// replace makes the file of that name in one step: write fills a new one,
// which then takes the name. exclusive: ErrExists if there is one.
func replace(ctx context.Context, fs storage.FS, name string, d Durability, exclusive bool, write func(f storage.File) error) error {
	s, err := newSibling(ctx, fs, name)
	if err != nil {
		return err
	}
	err = write(s.File)
	if err == nil && d != SyncNever {
		err = s.Sync()
	}
	if err != nil {
		return errors.Join(err, s.drop(ctx))
	}
	if err := s.take(ctx, name, exclusive); err != nil || d == SyncNever {
		return err
	}
	return fs.SyncDir(ctx, dirOf(name))
}

// dirOf is the directory of a name, "" for the root.
func dirOf(name string) string {
	if dir := path.Dir(name); dir != "." {
		return dir
	}
	return ""
}
