package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/scratch"
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
	Path    string `json:"path"`
	Chunks  int64  `json:"chunks"`            // in the state that is its own now; -1: not a frame
	Was     int64  `json:"was"`               // in the one before; -1: it could not be read
	Dropped int64  `json:"dropped,omitempty"` // bytes
	Cleared int64  `json:"cleared,omitempty"` // runs of a scratch
	Kept    string `json:"kept,omitempty"`    // where the file as it was is
}

func newRepair(g *globals) *cobra.Command {
	var r repairing
	c := &cobra.Command{
		Use:   "repair PATH",
		Short: "Put back what can be put back without guessing",
		Long: `Put back what can be put back without guessing, and leave everything else alone.

Of a Blosc2 frame in a file: the newest whole state that lies in it, where its header leads to none, or to an older one,
as after a kill or a loss of power; and with --drop, bytes that nothing leads to are left out. The frame is written
beside and takes the place of the file when it is whole; the file as it was stays as PATH` + keptEnding + `. Of a store in a
directory: each of its files so; nobody must write to it meanwhile. Of a scratch, or a directory of them: runs that are
damaged are cleared, to be taken in anew.

What verify finds besides, a chunk that does not decode, has no other copy in the file: repair does not touch it.`,
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
				return failed(args[0], errors.Join(writeJSON(c.OutOrStdout(), &r), err))
			}
			return failed(args[0], errors.Join(r.tell(c), err))
		},
	}
	f := c.Flags()
	f.BoolVar(&r.dry, "dry-run", false, "change nothing, say what would be done")
	f.BoolVar(&r.drop, "drop", false, "leave out the bytes of frames that nothing leads to")
	f.BoolVar(&r.discard, "discard", false, "keep no copy of a file as it was")
	return c
}

func (r *repairing) tell(c *cobra.Command) (err error) {
	would := ""
	if r.dry {
		would = "would be "
	}
	for _, d := range r.Did {
		what := fmt.Sprintf("%d runs %scleared", d.Cleared, would)
		if d.Chunks >= 0 {
			what = fmt.Sprintf("%srepaired: %d chunks, there were %d; %d bytes dropped", would, d.Chunks, max(d.Was, 0), d.Dropped)
		}
		if d.Kept != "" {
			what += "; as it was: " + oneLine(d.Kept)
		}
		if _, err = fmt.Fprintf(c.OutOrStdout(), "%s: %s\n", oneLine(d.Path), what); err != nil {
			return err
		}
	}
	if len(r.Did) == 0 {
		_, err = fmt.Fprintln(c.OutOrStdout(), "nothing to repair")
	}
	return err
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
		if !isContainer(name, false) || filepath.Ext(name) == ".b2z" {
			return fault.New(fault.ErrUnsupported, "repair", base, "is neither a frame of Blosc2 nor a scratch")
		}
		return r.frame(ctx, fs, name, base, blosc2.LockedIfPossible)
	}
	fs, err := file.OpenFS(filepath.Join(dir, base))
	if err != nil {
		return err
	}
	defer fs.Close()
	if isContainer(name, true) {
		return r.store(ctx, fs, name, "")
	}
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
	if err == nil && m.Changed {
		if r.dry {
			kept = ""
		}
		r.Did = append(r.Did, repaired{Path: name, Chunks: m.Chunks, Was: m.Was, Dropped: m.Dropped, Kept: kept})
	}
	return err
}

// store repairs the frames in a directory of a store, and in those below.
func (r *repairing) store(ctx context.Context, fs *file.FS, root, dir string) error {
	if _, err := fs.Stat(ctx, path.Join(dir, "chunks.b2frame")); err == nil {
		return fault.New(fault.ErrUnsupported, "repair", dir, "is a sparse frame")
	}
	names, err := fs.List(ctx, dir)
	if err != nil {
		return err
	}
	for _, base := range names {
		name := path.Join(dir, base)
		switch {
		case base[len(base)-1] == '/':
			err = r.store(ctx, fs, root, name)
		case slices.Contains(containerExtensions, path.Ext(base)):
			err = r.frame(ctx, fs, filepath.Join(root, filepath.FromSlash(name)), name, blosc2.Unlocked)
		}
		if err != nil {
			return err
		}
	}
	return nil
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
