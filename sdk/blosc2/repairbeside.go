//go:build !gridhold_guest

package blosc2

import (
	"context"
	"errors"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// RepairSpec says how RepairBeside repairs.
type RepairSpec struct {
	DryRun bool   // only say what would be done
	Drop   bool   // leave out the bytes that nothing leads to
	Keep   string // the name of a copy of the file as it was; "": none is kept
}

// Mended is what RepairBeside did, or would.
type Mended struct {
	Repaired
	Dropped int64 // bytes that nothing led to, if they were to be dropped
	Changed bool  // there was something to do
}

// RepairBeside is the function Repair on a copy, which takes the place of the
// file when it is whole: a kill leaves the one or the other. It takes the lock
// where Options ask for it. ErrExists if there is something of the name
// RepairSpec.Keep; otherwise as Repair.
func RepairBeside(ctx context.Context, fs storage.FS, name string, spec RepairSpec, o Options) (m Mended, err error) {
	o, err = o.checked()
	if err != nil {
		return m, err
	}
	info, err := fs.Stat(ctx, name)
	if err != nil {
		return m, err
	}
	if info.Dir {
		return m, fault.New(fault.ErrUnsupported, "repair", name, "is a directory")
	}
	where := place{fs: fs, name: name, size: -1}
	err = where.locked(ctx, o, func() error {
		f, err := fs.Open(ctx, name, storage.OpenRead)
		if err != nil {
			return err
		}
		defer f.Close()
		if m.Repaired, err = search(ctx, &where, f, o, false); err != nil {
			return err
		}
		if spec.Drop && !m.Written {
			if m.Dropped, err = deadIn(ctx, where, o); err != nil {
				return err
			}
		}
		m.Changed = m.Written || m.Dropped > 0
		if !m.Changed || spec.DryRun && !spec.Drop {
			return nil
		}
		return m.beside(ctx, where, f, spec, o)
	})
	return m, err
}

// deadIn is SChunk.Dead of a frame that is opened for that.
func deadIn(ctx context.Context, where place, o Options) (int64, error) {
	o.Locking, o.Write = Unlocked, false
	c, err := openLeaf(ctx, where, o)
	if err != nil {
		return 0, err
	}
	dead, err := sequence(c).Dead(ctx)
	return dead, errors.Join(err, c.Close())
}

// beside makes the copy and, unless that is only to see what comes of it, puts
// it in place.
func (m *Mended) beside(ctx context.Context, where place, f storage.File, spec RepairSpec, o Options) (err error) {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	s, err := newSibling(ctx, where.fs, where.name)
	if err != nil {
		return err
	}
	taken := false
	defer func() {
		if !taken {
			err = errors.Join(err, s.drop(ctx))
		}
	}()
	if _, _, err = s.CopyRange(0, f, 0, info.Size); err != nil {
		return err
	}
	copied := place{fs: where.fs, name: s.name, size: -1}
	if _, err = search(ctx, &copied, s.File, o, true); err != nil {
		return err
	}
	if spec.Drop {
		if m.Written {
			if m.Dropped, err = deadIn(ctx, copied, o); err != nil {
				return err
			}
		}
		if m.Dropped > 0 && !spec.DryRun {
			if err = drop(ctx, copied, s, o); err != nil {
				return err
			}
		}
	}
	if spec.DryRun {
		return nil
	}
	if err = s.Sync(); err != nil {
		return err
	}
	if spec.Keep != "" {
		if err = preserve(ctx, where.fs, f, info.Size, spec.Keep); err != nil {
			return err
		}
	}
	taken = true
	if err = s.take(ctx, where.name, false); err != nil {
		return err
	}
	return where.fs.SyncDir(ctx, dirOf(where.name))
}

// preserve copies a file to another name, which it must not have. A renaming
// would leave none of the old one for a moment.
func preserve(ctx context.Context, fs storage.FS, f storage.File, size int64, name string) error {
	return replace(ctx, fs, name, SyncCommits, true, func(to storage.File) error {
		_, _, err := to.CopyRange(0, f, 0, size)
		return err
	})
}

// drop writes a frame, which nobody knows yet, without its dead bytes over itself,
// by way of another file.
func drop(ctx context.Context, where place, into *sibling, o Options) error {
	other, err := newSibling(ctx, where.fs, where.name)
	if err != nil {
		return err
	}
	o.Locking, o.Write = Unlocked, false
	c, err := openLeaf(ctx, where, o)
	if err == nil {
		err = errors.Join(sequence(c).copyTo(ctx, other.File), c.Close())
	}
	var info storage.FileInfo
	if err == nil {
		info, err = other.Stat()
	}
	if err == nil {
		err = into.Truncate(0)
	}
	if err == nil {
		_, _, err = into.CopyRange(0, other.File, 0, info.Size)
	}
	return errors.Join(err, other.drop(ctx))
}
