package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/gridhold/gridhold/native/clock"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/scratch"
	"github.com/gridhold/gridhold/sdk/zarr"
)

func newScratch(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "scratch",
		Short: "Copies of images that programs go back to: make, fill, look at, verify, clean up",
		Long: `Copies of images that programs go back to. A scratch is a file, or one of the
files of a directory that scratches share within a budget: SCRATCH is taken for
such a directory if it is one, or ends in "/".`,
	}
	c.AddCommand(newScratchCreate(g), newScratchFill(g), newScratchStatus(g), newScratchVerify(g), newScratchCollect(g))
	return c
}

// scratchFlags say what a scratch is to be like.
type scratchFlags struct {
	runLength        int64
	budget, keepFree size
	reserve          bool
	overwrite        bool
	network          bool
	openFiles        int
}

func (f *scratchFlags) add(c *cobra.Command) {
	fl := c.Flags()
	f.budget = size(scratch.Everything)
	fl.Int64Var(&f.runLength, "run-length", 16, "how many `images` are taken in at a time")
	fl.Var(&f.budget, "budget", "`bytes` that the file, or all of the directory, may take; K, M, G, T are powers of 1024")
	fl.Var(&f.keepFree, "keep-free", "`bytes` of the file system to leave free")
	fl.BoolVar(&f.reserve, "reserve", false, "take the space at once")
	fl.BoolVar(&f.overwrite, "overwrite", false, "replace a file that is not a scratch")
	fl.BoolVar(&f.network, "network", false, "allow a network file system, for programs on one machine only")
	fl.IntVar(&f.openFiles, "open-files", 32, "how many image files to keep open")
}

// open makes the scratch, or goes on with the one that is there.
func (f *scratchFlags) open(ctx context.Context, target *scratchTarget, in *scratchInput) (*scratch.ImageScratch, error) {
	if target.directory {
		return scratch.CreateDirectoryImageScratch(ctx, in.locations, target.fs, target.key, f.runLength, int64(f.budget), in, f.options())
	}
	return scratch.CreateMappedFileImageScratch(ctx, in.locations, target.fs, target.key, f.runLength, int64(f.budget), in, f.options())
}

func (f *scratchFlags) options() scratch.Options {
	return scratch.Options{
		Clock: clock.System{}, Overwrite: f.overwrite, Reserve: f.reserve, KeepFree: int64(f.keepFree),
		Network: f.network, OpenFiles: f.openFiles,
	}
}

// making is a command that makes a scratch of images and does something
// with it.
func making(g *globals, use, short, long string, f *scratchFlags, fills bool, do func(c *cobra.Command, s *scratch.ImageScratch, in *scratchInput) error) *cobra.Command {
	c := &cobra.Command{
		Use: use + " SCRATCH IMAGES...", Short: short, Long: long, Args: cobra.MinimumNArgs(2),
		RunE: func(c *cobra.Command, args []string) (err error) {
			target, err := scratchAt(g, args[0])
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, target.fs.Close()) }()
			if name := sameFile(args[0], args[1:]); name != "" {
				return usagef("%s is the same file as %s, whose images the scratch is to hold", args[0], name)
			}
			in, err := imagesFor(c.Context(), g, args[1:])
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, in.Close()) }()
			if in.all[0].box != nil {
				return f.makeBoxed(c, g, target, in, fills)
			}
			s, err := f.open(c.Context(), target, in)
			if err != nil {
				return in.blame(c.Context(), args[0], err)
			}
			err = in.blame(c.Context(), args[0], do(c, s, in))
			stats := s.Stats()
			if e := s.Close(); err == nil {
				err = failed(args[0], e)
			}
			return errors.Join(err, writeStats(c, g, stats))
		},
	}
	f.add(c)
	return c
}

// sameFile returns which of some names is one more of a file's, "" if none.
func sameFile(name string, names []string) string {
	info, err := os.Stat(name)
	if err != nil {
		return ""
	}
	for _, other := range names {
		if is, err := os.Stat(other); err == nil && os.SameFile(info, is) {
			return other
		}
	}
	return ""
}

func newScratchCreate(g *globals) *cobra.Command {
	return making(g, "create", "Make a scratch of images, with nothing in it yet",
		`Make a scratch for the images that tables name, or that stacks hold, or go on
with the one that is there. Nothing is taken in yet: programs do that as they
read, and "gridhold scratch fill" does it beforehand.`, new(scratchFlags), false,
		func(*cobra.Command, *scratch.ImageScratch, *scratchInput) error { return nil })
}

func newScratchFill(g *globals) *cobra.Command {
	workers := 2
	c := making(g, "fill", "Take images into a scratch, which is made where there is none",
		`Take images into a scratch: as many as there is room for, file by file. What is
there is not read again, so a fill that was interrupted goes on.`, new(scratchFlags), true,
		func(c *cobra.Command, s *scratch.ImageScratch, in *scratchInput) error {
			p := newProgress(c.ErrOrStderr())
			p.begin("runs")
			done := scratch.PrefetchScratch(c.Context(), s, in.locations, scratch.NewExecutor(workers), nil)
			tick := time.NewTicker(100 * time.Millisecond)
			defer tick.Stop()
			for waiting := true; waiting; {
				select {
				case <-done.Done():
					waiting = false
				case <-tick.C:
				}
				at := done.Progress()
				p.step(zarr.Copied{Chunks: at.RunsDone, Total: at.Runs, Bytes: at.BytesDone})
			}
			p.end()
			return done.Wait(context.WithoutCancel(c.Context()))
		})
	c.Flags().IntVar(&workers, "workers", workers, "how many `files` to read at a time; in the sandbox it is one")
	return c
}

func writeStats(c *cobra.Command, g *globals, s scratch.Stats) error {
	if g.json {
		return writeJSON(c.OutOrStdout(), asJSON(s))
	}
	where := s.Name
	if where == "" {
		where = "nowhere: what is in use leaves no room"
	} else {
		where = "/" + where
	}
	_, err := fmt.Fprintf(c.OutOrStdout(), "file: %s\nimages: %d\nheld: %d of %d for which there is room\ntaken in: %d runs, %d bytes\n",
		oneLine(where), s.Images, s.Present, s.Eligible, s.Filled, s.FilledBytes)
	return err
}

func newScratchStatus(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "status SCRATCH", Short: "Tell what scratches hold, and whether they are in use", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) (err error) {
			target, err := existing(c.Context(), g, args[0])
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, target.Close()) }()
			all, err := target.statuses(c.Context())
			if err != nil {
				return failed(args[0], err)
			}
			if g.json {
				list := []any{}
				for _, s := range all {
					list = append(list, asJSON(s))
				}
				return writeJSON(c.OutOrStdout(), list)
			}
			w := tabwriter.NewWriter(c.OutOrStdout(), 0, 8, 2, ' ', 0)
			for _, s := range all {
				use := "unused since " + s.LastUsed.UTC().Format(time.DateTime)
				if s.InUse {
					use = "in use"
				}
				what := fmt.Sprintf("%d of %d images\t%d files", s.Present, s.Images, s.Keys)
				if s.Broken != "" {
					what, use = "broken: "+oneLine(s.Broken), ""
				}
				fmt.Fprintf(w, "/%s\t%s\t%d MiB\t%s\n", oneLine(s.Name), what, s.Allocated>>20, use)
			}
			return w.Flush()
		},
	}
}

func newScratchVerify(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "verify SCRATCH", Short: "Hold everything in scratches against its checksum",
		Long: "Hold everything in scratches against its checksum. Nothing is changed: programs take in\nanew what is damaged when they read it.\n\nExit status 3 if anything is.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) (err error) {
			target, err := existing(c.Context(), g, args[0])
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, target.Close()) }()
			all, err := target.statuses(c.Context())
			if err != nil {
				return failed(args[0], err)
			}
			checked, damaged, err := verifyScratches(c, target, all)
			if err != nil {
				return failed(args[0], err)
			}
			return tellDamage(c, g, checked, damaged, nil)
		},
	}
}

func verifyScratches(c *cobra.Command, target *scratchTarget, all []scratch.Status) (checked int64, damaged []zarr.Damage, err error) {
	p := newProgress(c.ErrOrStderr())
	defer p.end()
	for _, s := range all {
		at := zarr.Copied{Total: s.PresentRuns}
		p.begin(s.Name)
		report := func(d scratch.Damage) {
			damaged = append(damaged, zarr.Damage{Item: strings.TrimSpace("/" + s.Name + " " + d.Item), Off: d.Off, Text: d.Text})
		}
		var n int64
		var err error
		if target.box != nil {
			n, err = target.box.VerifyScratch(c.Context(), target.fs, s.Name, report)
		} else {
			n, err = scratch.Verify(c.Context(), target.fs, s.Name, report, func(bytes int64) {
				at.Chunks++
				at.Bytes += bytes
				p.step(at)
			})
		}
		if checked += n; err != nil {
			return checked, damaged, err
		}
	}
	return checked, damaged, nil
}

func newScratchCollect(g *globals) *cobra.Command {
	budget := size(scratch.Everything)
	c := &cobra.Command{
		Use: "gc DIRECTORY", Short: "Remove scratches until a directory is within a budget",
		Long: `Remove scratches of a directory that nobody uses, those first that were used
longest ago, until the rest is within --budget, and what was left unfinished by
programs that were killed. Nothing else is ever removed.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) (err error) {
			target, err := existing(c.Context(), g, args[0])
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, target.Close()) }()
			if info, err := os.Stat(args[0]); err != nil || !info.IsDir() {
				if err == nil {
					err = fault.New(fault.ErrInvalid, "scratch", "", "not a directory")
				}
				return failed(args[0], err)
			}
			got, err := target.collect(c.Context(), int64(budget))
			if err != nil {
				return failed(args[0], err)
			}
			if g.json {
				if got.Removed == nil {
					got.Removed = []string{}
				}
				return writeJSON(c.OutOrStdout(), struct {
					Removed []string `json:"removed"`
					Freed   int64    `json:"freed"`
					Taken   int64    `json:"taken"`
				}{got.Removed, got.Freed, got.Taken})
			}
			for _, name := range got.Removed {
				fmt.Fprintf(c.OutOrStdout(), "removed /%s\n", oneLine(name))
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "freed %d bytes; %d are taken\n", got.Freed, got.Taken)
			return err
		},
	}
	c.Flags().Var(&budget, "budget", "`bytes` that scratches may take; 0 removes all that are not in use. Without it only what is unfinished goes")
	return c
}

// size is a flag of bytes: a number, with K, M, G or T behind it for powers of
// 1024.
type size int64

func (s *size) String() string {
	if *s == size(scratch.Everything) {
		return "everything"
	}
	return strconv.FormatInt(int64(*s), 10)
}

func (s *size) Type() string { return "bytes" }

func (s *size) Set(text string) error {
	digits := strings.TrimRight(strings.TrimSuffix(strings.TrimSuffix(text, "B"), "i"), "KMGT")
	unit := strings.TrimSuffix(strings.TrimSuffix(text[len(digits):], "B"), "i")
	shift := 10 * (strings.Index("KMGT", unit) + 1)
	n, err := strconv.ParseInt(digits, 10, 64)
	if unit == "" {
		shift = 0
	}
	if err != nil || n < 0 || len(unit) > 1 || n > int64(scratch.Everything)>>shift {
		return errors.New("not a number of bytes, as in 500G")
	}
	*s = size(n << shift)
	return nil
}

var _ image.Stater = (*scratchInput)(nil)
