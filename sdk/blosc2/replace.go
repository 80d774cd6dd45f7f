package blosc2

import (
	"context"
	"errors"
	"path"
	"strconv"

	"github.com/gridhold/gridhold/sdk/fault"
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

// sibling makes a file beside name, under a name that no other writer has and
// that stores take for no leaf.
func sibling(ctx context.Context, fs storage.FS, name string) (storage.File, string, error) {
	for n := 0; ; n++ {
		tmp := name + "." + strconv.Itoa(n) + ".tmp"
		f, err := fs.Open(ctx, tmp, storage.OpenRead|storage.OpenWrite|storage.OpenCreate|storage.OpenExclusive)
		if !errors.Is(err, fault.ErrExists) || n > 1000 {
			return f, tmp, err
		}
	}
}

// replace makes the file of that name in one step: write fills a new one,
// which then takes the name. exclusive: ErrExists if there is one.
func replace(ctx context.Context, fs storage.FS, name string, d Durability, exclusive bool, write func(f storage.File) error) error {
	f, tmp, err := sibling(ctx, fs, name)
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil && d != SyncNever {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil && exclusive {
		err = fs.RenameNoReplace(ctx, tmp, name)
	} else if err == nil {
		err = fs.Rename(ctx, tmp, name)
	}
	if err != nil {
		return errors.Join(err, fs.Remove(context.WithoutCancel(ctx), tmp))
	}
	if d == SyncNever {
		return nil
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
