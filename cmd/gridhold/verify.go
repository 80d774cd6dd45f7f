package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/zarr"
	"github.com/gridhold/gridhold/sdk/zip"
)

func newVerify(g *globals) *cobra.Command {
	var repair bool
	cmd := command(g, "verify", "Read every index, checksum and chunk, and tell what is damaged",
		"Read every index, checksum and chunk, and tell what is damaged and where. Of a Blosc2 container also who has its lock. URL may be an index pack, too.\n\nExit status 3 if anything is damaged, 1 if something could not be checked.",
		func(ctx context.Context, c *cobra.Command, s *source) error {
			checked, damaged, err := s.verify(ctx)
			if err != nil {
				return err
			}
			var lock *blosc2.LockState
			if g.key == "" && g.path == "" {
				if lock, err = lockState(ctx, c.Flags().Arg(0)); err != nil {
					return err
				}
			}
			return tellDamage(c, g, checked, damaged, lock)
		})
	cmd.Flags().BoolVar(&repair, "repair", false, "first do what \"gridhold repair URL\" does")
	run := cmd.RunE
	cmd.RunE = func(c *cobra.Command, args []string) error {
		if checked, damaged, ok, err := verifyPack(args[0]); ok {
			if err != nil {
				return failed(args[0], err)
			}
			return tellDamage(c, g, checked, damaged, nil)
		}
		if repair {
			if err := repairFirst(c, args[0]); err != nil {
				return failed(args[0], err)
			}
		}
		return run(c, args)
	}
	return cmd
}

// tellDamage prints what is damaged, which is the error of the command, and
// who has the lock, if there is one.
func tellDamage(c *cobra.Command, g *globals, checked int64, damaged []zarr.Damage, lock *blosc2.LockState) (err error) {
	if g.json {
		if damaged == nil {
			damaged = []zarr.Damage{}
		}
		err = writeJSON(c.OutOrStdout(), struct {
			Checked int64         `json:"checked"`
			Damaged []zarr.Damage `json:"damaged"`
			Lock    *lockLine     `json:"lock,omitempty"`
		}{checked, damaged, lineOf(lock)})
	} else {
		err = writeDamage(c, checked, damaged)
		if l := lineOf(lock); l != nil && err == nil {
			_, err = fmt.Fprintln(c.OutOrStdout(), l)
		}
	}
	if err != nil || len(damaged) == 0 {
		return err
	}
	n := unchecked(damaged)
	if n == len(damaged) {
		return failed(c.Flags().Arg(0), fmt.Errorf("%d not checked: %w", n, fault.ErrUnsupported))
	}
	return &failure{path: c.Flags().Arg(0), status: statusDamaged, err: fmt.Errorf("%d damaged of %d checked", len(damaged)-n, checked)}
}

// unchecked counts what may be whole.
func unchecked(damaged []zarr.Damage) (n int) {
	for _, d := range damaged {
		if d.Unchecked {
			n++
		}
	}
	return n
}

func (s *source) verify(ctx context.Context) (checked int64, damaged []zarr.Damage, err error) {
	if s.damage != nil {
		return 1, []zarr.Damage{damageOf(s.damage)}, nil
	}
	if s.opened != nil {
		return s.opened.verify(ctx)
	}
	if s.images != nil {
		return s.images.verify(ctx)
	}
	checked, damaged, err = s.engine.verify(ctx, s.store, s.path)
	if z, ok := s.store.(*zip.Store); ok && err == nil {
		_, err = z.Verify(ctx, func(name string, err error) { damaged = append(damaged, ofObject(name, err)) })
	}
	return checked, damaged, err
}

// ofObject is what is wrong with an object.
func ofObject(key string, err error) zarr.Damage {
	d := damageOf(err)
	d.Item = key
	return d
}

// writeDamage prints a line for each damaged item and one for the whole.
func writeDamage(c *cobra.Command, checked int64, damaged []zarr.Damage) error {
	for _, d := range damaged {
		where := oneLine(d.Item)
		if d.Off >= 0 {
			where = fmt.Sprintf("%s at %d", where, d.Off)
		}
		if _, err := fmt.Fprintf(c.OutOrStdout(), "%s: %s\n", where, oneLine(d.Text)); err != nil {
			return err
		}
	}
	n := unchecked(damaged)
	_, err := fmt.Fprintf(c.OutOrStdout(), "checked %d, damaged %d", checked, len(damaged)-n)
	if n > 0 && err == nil {
		_, err = fmt.Fprintf(c.OutOrStdout(), ", not checked %d", n)
	}
	if err == nil {
		_, err = fmt.Fprintln(c.OutOrStdout())
	}
	return err
}
