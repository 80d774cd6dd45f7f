//go:build !gridhold_guest

package blosc2

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// RepairSpec says how RepairBeside repairs.
type RepairSpec struct {
	DryRun bool // only say what would be done
	Drop   bool // leave out the bytes, and the files of chunks, that nothing leads to
	// Keep is the name of a copy of the file as it was; of a sparse frame, of a
	// directory with those of its files that were replaced or left out. "": none
	// is kept.
	Keep string
}

// Mended is what RepairBeside did, or would.
type Mended struct {
	Repaired
	Dropped int64 // bytes that nothing led to, if they were to be dropped
	Swept   int   // files and directories beside it that writers left who were killed
	Changed bool  // there was something to do
	// Lost is what is damaged still, because no other copy of it is there.
	Lost []Damage
}

// RepairBeside is the function Repair on a copy, which takes the place of the
// file when it is whole: a kill leaves the one or the other. It takes the lock
// where Options ask for it.
//
// Of a sparse frame, whose chunks are files, the file chunks.b2frame is repaired
// so: its header, if index and trailer behind it are whole and all chunks there.
// The names of chunks do not say their order, so an index that is gone stays gone.
//
// A zip gets a new directory if it has none, or a wrong one, and its members lie
// one after the other, each with its own checksum, up to embed.b2e, which is
// written last.
//
// ErrExists if there is something of the name RepairSpec.Keep; otherwise as
// Repair. What writers left behind who are gone is removed, unless something is
// lost.
func RepairBeside(ctx context.Context, fs storage.FS, name string, spec RepairSpec, o Options) (m Mended, err error) {
	where, err := toRepair(ctx, fs, name)
	if err != nil {
		return m, err
	}
	archive := false
	if !where.sparse {
		f, err := fs.Open(ctx, name, storage.OpenRead)
		if err != nil {
			return m, err
		}
		archive, err = isZip(f)
		if err = first(err, f.Close()); err != nil {
			return m, err
		}
	}
	if archive && o.Locking == Locked {
		return m, fault.New(fault.ErrInvalid, "locking", name, "a zip is not locked")
	}
	if archive { // it is replaced whole, as by who wrote it
		o.Locking = Unlocked
	}
	if spec.Drop && where.sparse && !spec.DryRun {
		if err := pins.wait(ctx, &where); err != nil {
			return m, err
		}
	}
	err = where.repairing(ctx, o, storage.OpenRead, func(f storage.File, o Options) (err error) {
		behind := where.sweep(ctx, true) // before a new one takes the name of an old one
		switch {
		case archive:
			err = m.archive(ctx, where, f, spec, o)
		case where.sparse:
			err = m.sparse(ctx, where, f, spec, o)
		default:
			err = m.contiguous(ctx, where, f, spec, o)
		}
		if err == nil && m.Lost == nil { // or there may be more in what is beside
			m.Swept = behind
			if !spec.DryRun {
				where.sweep(ctx, false)
			}
		}
		m.Changed = m.Written || m.Dropped > 0 || m.Swept > 0
		return err
	})
	return m, err
}

// sweep removes what was left behind beside a frame, and counts it; dry: it only
// counts.
func (p *place) sweep(ctx context.Context, dry bool) (n int) {
	names := []string{p.name}
	if p.sparse {
		names = append(names, p.main())
	}
	for _, name := range names {
		for sibling := range siblings(ctx, p.fs, name) {
			if swept(ctx, p.fs, sibling, dry) {
				n++
			}
		}
	}
	return n
}

// swept removes a sibling if its maker is gone; dry: it only looks.
func swept(ctx context.Context, fs storage.FS, name string, dry bool) bool {
	if !dry {
		return cleared(ctx, fs, name, true)
	}
	f, ok := abandoned(ctx, fs, name)
	if ok {
		f.Close()
	}
	return ok
}

// Sweep removes what writers left behind in a directory, at any depth, who were
// killed, and returns the names of that; dry: it only looks.
func Sweep(ctx context.Context, fs storage.FS, dir string, dry bool) ([]string, error) {
	files, err := (&directory{fs, dir}).list(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(files, func(name string) bool {
		return !isSibling(name) || !swept(ctx, fs, join(dir, name), dry)
	}), nil
}

// lost notes chunks that are not where the index says, or not what it says.
func (m *Mended) lost(ctx context.Context, v *view) error {
	found := verifier{report: func(d Damage) { m.Lost = append(m.Lost, d) }}
	for i := range v.chunks {
		if err := storage.Ended(ctx, v.where.name); err != nil {
			return err
		}
		_, err := v.chunkHeader(ctx, i)
		if errors.Is(err, fault.ErrNotFound) {
			err = fault.New(fault.ErrCorrupt, "frame", "", "the file of the chunk is not there")
		}
		if err := found.found("chunk "+strconv.FormatInt(i, 10), err); err != nil {
			return err
		}
	}
	return nil
}

// contiguous repairs a frame in a file.
func (m *Mended) contiguous(ctx context.Context, where place, f storage.File, spec RepairSpec, o Options) (err error) {
	if m.Repaired, _, err = search(ctx, &where, f, o); err != nil {
		return err
	}
	if !m.Written {
		v, err := load(ctx, &where, f, o.Limits)
		if err == nil {
			err = m.lost(ctx, v)
		}
		if err == nil && spec.Drop && m.Lost == nil {
			m.Dropped, err = v.dead(ctx)
		}
		if err != nil || m.Dropped == 0 {
			return err
		}
	}
	if spec.DryRun && !spec.Drop {
		return nil
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return beside(ctx, where, f, info.Size, spec, func(s *sibling) error {
		copied := place{fs: where.fs, name: s.name, size: -1}
		_, next, err := search(ctx, &copied, s.File, o)
		if err == nil && next != nil {
			err = rewriteHeader(s.File, next, SyncNever)
		}
		if err != nil || !spec.Drop {
			return err
		}
		if m.Written {
			if m.Dropped, err = deadIn(ctx, copied, o); err != nil {
				return err
			}
		}
		if m.Dropped == 0 || spec.DryRun {
			return nil
		}
		return drop(ctx, copied, s, o)
	})
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

// beside makes a copy of the first n bytes of a file, which mend changes, and puts
// it in the place of the file; or, if that is only to see what comes of it, not.
func beside(ctx context.Context, where place, f storage.File, n int64, spec RepairSpec, mend func(s *sibling) error) (err error) {
	s, err := newSibling(ctx, where.fs, where.main())
	if err != nil {
		return err
	}
	taken := false
	defer func() {
		if !taken {
			err = errors.Join(err, s.drop(ctx))
		}
	}()
	if _, _, err = s.CopyRange(0, f, 0, n); err != nil {
		return err
	}
	if err = mend(s); err != nil || spec.DryRun {
		return err
	}
	if err = s.Sync(); err != nil {
		return err
	}
	if spec.Keep != "" && !where.sparse {
		if err = preserve(ctx, where.fs, f, spec.Keep); err != nil {
			return err
		}
	}
	taken = true
	if err = s.take(ctx, where.main(), false); err != nil {
		return err
	}
	return where.fs.SyncDir(ctx, dirOf(where.main()))
}

// preserve copies a file to another name, which it must not have. A renaming
// would leave none of the old one for a moment.
func preserve(ctx context.Context, fs storage.FS, f storage.File, name string) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return replace(ctx, fs, name, SyncCommits, true, func(to storage.File) error {
		_, _, err := to.CopyRange(0, f, 0, info.Size)
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
