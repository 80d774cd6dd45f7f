package main

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/gridhold/gridhold/host"
	"github.com/gridhold/gridhold/native/clock"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/scratch"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// collect is scratch.Collect by the engine.
func (t *scratchTarget) collect(ctx context.Context, budget int64) (scratch.Collected, error) {
	if t.box != nil {
		return t.box.CollectScratches(ctx, t.fs, t.key, budget)
	}
	return scratch.Collect(ctx, t.fs, t.key, budget, scratch.Options{Clock: clock.System{}})
}

// inSandbox returns what opens the images in a sandbox, all of them. The guest
// looks for all files in the same places: ErrUnsupported for tables that mean
// different ones.
func (in *scratchInput) inSandbox() (*host.Sandbox, *host.Images, error) {
	first := in.all[0]
	for _, m := range in.all {
		if m.table {
			first = m
			break
		}
	}
	for _, m := range in.all {
		remote := m.roots == nil || first.roots == nil
		if m != first && (remote || m.table && !slices.Equal(m.roots, first.roots)) {
			return nil, nil, fault.New(fault.ErrUnsupported, "engine", "wasm", "images of several places in one scratch: say with --root where files are")
		}
	}
	return first.box, in.providers[first].(*host.Images), nil
}

// openBoxed is scratchFlags.open in a sandbox.
func (f *scratchFlags) openBoxed(ctx context.Context, target *scratchTarget, in *scratchInput) (*host.Scratch, error) {
	box, files, err := in.inSandbox()
	if err != nil {
		return nil, err
	}
	if target.directory {
		return box.CreateDirectoryImageScratch(ctx, in.locations, target.fs, target.key, f.runLength, int64(f.budget), files, f.options())
	}
	return box.CreateMappedFileImageScratch(ctx, in.locations, target.fs, target.key, f.runLength, int64(f.budget), files, f.options())
}

// makeBoxed makes a scratch in a sandbox, fills it if that is asked for, and
// tells what it holds.
func (f *scratchFlags) makeBoxed(c *cobra.Command, g *globals, target *scratchTarget, in *scratchInput, fill bool) error {
	name := c.Flags().Arg(0)
	s, err := f.openBoxed(c.Context(), target, in)
	if err != nil {
		return in.blame(c.Context(), name, err)
	}
	if fill {
		p := newProgress(c.ErrOrStderr())
		p.begin("files")
		err = s.Prefetch(c.Context(), func(done, files int) { p.step(zarr.Copied{Chunks: int64(done), Total: int64(files)}) })
		p.end()
	}
	st, statsErr := s.Stats(context.WithoutCancel(c.Context()))
	if closeErr := s.Close(); err == nil {
		err = errors.Join(statsErr, closeErr)
	}
	if statsErr != nil {
		return in.blame(c.Context(), name, err)
	}
	return errors.Join(in.blame(c.Context(), name, err), writeStats(c, g, st))
}
