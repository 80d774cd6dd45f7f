package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/scratch"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// keptEnding is added to the name of the copy of what was repaired.
const keptEnding = ".before-repair"

// repairing is what the flags of repair say, and what came of it.
type repairing struct {
	dry, drop, discard bool
	Did                []repaired `json:"repaired"`
}

// repaired is one file that was changed, or would be.
type repaired struct {
	Path    string        `json:"path"`
	Chunks  int64         `json:"chunks"`                // in the state that is its own now, of a zip its members; -1: not a container
	Was     int64         `json:"was"`                   // in the one before; -1: it could not be read
	Dropped int64         `json:"dropped,omitempty"`     // bytes
	Swept   int           `json:"left_behind,omitempty"` // files that killed writers left, removed
	Cleared int64         `json:"cleared,omitempty"`     // runs of a scratch
	Kept    string        `json:"kept,omitempty"`        // where the file as it was is
	Lost    []zarr.Damage `json:"lost,omitempty"`        // what is damaged still
	written bool
}

func newRepair(g *globals) *cobra.Command {
	var r repairing
	c := &cobra.Command{
		Use:   "repair PATH",
		Short: "Put back what can be put back without guessing",
		Long: `Put back what can be put back without guessing, and leave everything else alone.

Of a Blosc2 frame in a file: the newest whole state that lies in it, where its header leads to none, or to an older one,
as after a kill or a loss of power. Of a sparse frame: the header of its index. Of a store in a zip: the directory, where
the members prove by size and checksum what they are. Each is written beside and takes the place of the file when it is
whole; the file as it was stays as PATH` + keptEnding + `, of a sparse frame a directory of that name. With --drop, bytes and
files of chunks that nothing leads to are left out. What killed writers left beside is removed. Of a store in a
directory: each of its files so; nobody must write to it meanwhile. Of a scratch, or a directory of them: runs that are
damaged are cleared, to be taken in anew.

What verify finds besides, a chunk that does not decode or a file that is gone, has no other copy: repair does not touch
it. What it comes across of that it tells, with exit status 3.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if g.engine != "native" {
				return usagef("repair goes with --engine native")
			}
			name, ok := onThisMachine(args[0])
			if !ok {
				return usagef("%s: only files of this machine are repaired", withoutSecrets(args[0]))
			}
			err := r.path(c.Context(), name)
			if g.json {
				if r.Did == nil {
					r.Did = []repaired{}
				}
				err = errors.Join(writeJSON(c.OutOrStdout(), &r), err)
			} else {
				nothing := "nothing to repair"
				if err != nil { // who knows
					nothing = ""
				}
				err = errors.Join(r.tell(c.OutOrStdout(), nothing), err)
			}
			if n := r.lost(); err == nil && n > 0 {
				return &failure{path: args[0], status: statusDamaged, err: fmt.Errorf("%d damaged still", n)}
			}
			return failed(args[0], err)
		},
	}
	f := c.Flags()
	f.BoolVar(&r.dry, "dry-run", false, "change nothing, say what would be done")
	f.BoolVar(&r.drop, "drop", false, "leave out the bytes of frames that nothing leads to")
	f.BoolVar(&r.discard, "discard", false, "keep no copy of a file as it was")
	return c
}

// repairFirst is repair of what another command is about to look at, which tells
// what is lost.
func repairFirst(c *cobra.Command, arg string) error {
	name, ok := onThisMachine(arg)
	if !ok {
		return usagef("%s: only files of this machine are repaired", withoutSecrets(arg))
	}
	var r repairing
	err := r.path(c.Context(), name)
	return errors.Join(r.tell(c.ErrOrStderr(), ""), err)
}

// lost counts what is damaged still.
func (r *repairing) lost() (n int) {
	for _, d := range r.Did {
		n += len(d.Lost)
	}
	return n
}

// tell prints a line for each thing that was done; nothing: for none.
func (r *repairing) tell(w io.Writer, nothing string) (err error) {
	var lines []string
	for _, d := range r.Did {
		for _, what := range d.say(r.dry) {
			lines = append(lines, oneLine(d.Path)+": "+what)
		}
	}
	if lines == nil && nothing != "" {
		lines = []string{nothing}
	}
	for _, line := range lines {
		if _, err = fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

func (d *repaired) say(dry bool) (lines []string) {
	would := ""
	if dry {
		would = "would be "
	}
	switch {
	case d.Cleared > 0:
		lines = append(lines, fmt.Sprintf("%d runs %scleared", d.Cleared, would))
	case d.written || d.Dropped > 0:
		what := "chunks"
		if filepath.Ext(d.Path) == ".b2z" {
			what = "members"
		}
		line := fmt.Sprintf("%srepaired: %d %s, there were %d; %d bytes dropped", would, d.Chunks, what, max(d.Was, 0), d.Dropped)
		if d.Kept != "" {
			line += "; as it was: " + oneLine(d.Kept)
		}
		lines = append(lines, line)
	}
	if d.Swept > 0 {
		lines = append(lines, fmt.Sprintf("%d files that killed writers left %sremoved", d.Swept, would))
	}
	for _, l := range d.Lost {
		lines = append(lines, "not repaired: "+oneLine(l.Item)+": "+oneLine(l.Text))
	}
	return lines
}

// path repairs what a path leads to.
func (r *repairing) path(ctx context.Context, name string) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	dir, base, err := whereIs(name)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		fs, err := file.OpenFS(dir)
		if err != nil {
			return err
		}
		defer fs.Close()
		if _, err := scratch.Inspect(ctx, fs, base); err == nil {
			return r.scratch(ctx, fs, name, base)
		}
		if !isContainer(name, false) {
			return fault.New(fault.ErrUnsupported, "repair", base, "is neither a container of Blosc2 nor a scratch")
		}
		return r.frame(ctx, fs, name, base, blosc2.LockedIfPossible)
	}
	if _, err := os.Stat(filepath.Join(name, "chunks.b2frame")); err == nil {
		fs, err := file.OpenFS(dir)
		if err != nil {
			return err
		}
		defer fs.Close()
		return r.frame(ctx, fs, name, base, blosc2.LockedIfPossible)
	}
	if isContainer(name, true) {
		return r.store(ctx, dir, base)
	}
	fs, err := file.OpenFS(filepath.Join(dir, base))
	if err != nil {
		return err
	}
	defer fs.Close()
	all, err := scratch.List(ctx, fs, "")
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return fault.New(fault.ErrUnsupported, "repair", base, "is neither a store of Blosc2 nor a directory of scratches")
	}
	for _, s := range all {
		if err := r.scratch(ctx, fs, filepath.Join(name, s.Name), s.Name); err != nil {
			return err
		}
	}
	return nil
}

func (r *repairing) frame(ctx context.Context, fs *file.FS, name, base string, l blosc2.Locking) error {
	spec := blosc2.RepairSpec{DryRun: r.dry, Drop: r.drop}
	kept := ""
	if !r.discard {
		spec.Keep, kept = base+keptEnding, name+keptEnding
	}
	m, err := blosc2.RepairBeside(ctx, fs, base, spec, blosc2.Options{Locking: l, Durability: blosc2.SyncCommits})
	if err == nil && (m.Changed || m.Lost != nil) {
		if r.dry || !m.Written && m.Dropped == 0 {
			kept = ""
		}
		d := repaired{Path: name, Chunks: m.Chunks, Was: m.Was, Dropped: m.Dropped, Swept: m.Swept, Kept: kept, written: m.Written}
		for _, l := range m.Lost {
			d.Lost = append(d.Lost, zarr.Damage{Item: l.Item, Off: l.Off, Text: l.Text})
		}
		r.Did = append(r.Did, d)
	}
	return err
}

// store repairs the frames in the directory of a store, and tells what its keys
// lead to that is not there.
func (r *repairing) store(ctx context.Context, dir, base string) error {
	fs, err := file.OpenFS(dir)
	if err != nil {
		return err
	}
	defer fs.Close()
	if err := r.frames(ctx, fs, dir, base); err != nil {
		return err
	}
	d := repaired{Path: filepath.Join(dir, base), Chunks: -1, Was: -1}
	left, err := blosc2.Sweep(ctx, fs, base, r.dry)
	if err != nil {
		return err
	}
	d.Swept = len(left)
	if d.Lost, err = lostIn(ctx, fs, base); err == nil && (d.Swept > 0 || d.Lost != nil) {
		r.Did = append(r.Did, d)
	}
	return err
}

// frames repairs those in a directory of a store, and in those below.
func (r *repairing) frames(ctx context.Context, fs *file.FS, root, dir string) error {
	if _, err := fs.Stat(ctx, path.Join(dir, "chunks.b2frame")); err == nil {
		return fault.New(fault.ErrUnsupported, "repair", dir, "is a sparse frame, which no store has")
	}
	names, err := fs.List(ctx, dir)
	if err != nil {
		return err
	}
	for _, base := range names {
		name := path.Join(dir, base)
		switch {
		case base[len(base)-1] == '/':
			err = r.frames(ctx, fs, root, name)
		case slices.Contains(containerExtensions, path.Ext(base)):
			err = r.frame(ctx, fs, filepath.Join(root, filepath.FromSlash(name)), name, blosc2.Unlocked)
		}
		switch fault.CodeOf(err) {
		case 0, fault.CodeCorrupt, fault.CodeNotFound, fault.CodeStale: // lostIn tells of it
		default:
			return err
		}
	}
	return nil
}

// lostIn tells which keys of a store lead to nothing that opens.
func lostIn(ctx context.Context, fs *file.FS, name string) (lost []zarr.Damage, err error) {
	c, err := blosc2.Open(ctx, fs, name, blosc2.Options{})
	if err != nil {
		return []zarr.Damage{ofObject(name, err)}, nil
	}
	defer c.Close()
	if t, ok := c.(*blosc2.TreeStore); ok {
		c = t.DictStore()
	}
	d, ok := c.(*blosc2.DictStore)
	if !ok {
		return nil, nil
	}
	keys, err := d.Keys(ctx)
	if err != nil {
		return []zarr.Damage{ofObject("keys", err)}, nil
	}
	for _, key := range keys {
		leaf, err := d.Get(ctx, key)
		switch {
		case err == nil:
			err = leaf.Close()
		case !errors.Is(err, fault.ErrUnsupported): // which may be whole
			lost, err = append(lost, ofObject(key, err)), nil
		default:
			err = nil
		}
		if err != nil {
			return nil, err
		}
	}
	return lost, nil
}

func (r *repairing) scratch(ctx context.Context, fs *file.FS, name, base string) (err error) {
	d := repaired{Path: name, Chunks: -1, Was: -1}
	if r.dry {
		_, err = scratch.Verify(ctx, fs, base, func(scratch.Damage) { d.Cleared++ }, nil)
	} else {
		d.Cleared, err = scratch.Repair(ctx, fs, base, func(scratch.Damage) {})
	}
	if err == nil && d.Cleared > 0 {
		r.Did = append(r.Did, d)
	}
	return err
}
