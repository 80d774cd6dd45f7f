package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gridhold/gridhold/sdk/zarr"
)

func newVerify(g *globals) *cobra.Command {
	return command(g, "verify", "Read every index, checksum and chunk, and tell what is damaged",
		"Read every index, checksum and chunk, and tell what is damaged and where.\n\nExit status 3 if anything is.",
		func(ctx context.Context, c *cobra.Command, s *source) error {
			checked, damaged, err := s.verify(ctx)
			if err != nil {
				return err
			}
			if g.key == "" && g.path == "" {
				if err := tellLock(ctx, c, g); err != nil {
					return err
				}
			}
			return tellDamage(c, g, checked, damaged)
		})
}

// tellDamage prints what is damaged, which is the error of the command.
func tellDamage(c *cobra.Command, g *globals, checked int64, damaged []zarr.Damage) (err error) {
	if g.json {
		if damaged == nil {
			damaged = []zarr.Damage{}
		}
		err = writeJSON(c.OutOrStdout(), struct {
			Checked int64         `json:"checked"`
			Damaged []zarr.Damage `json:"damaged"`
		}{checked, damaged})
	} else {
		err = writeDamage(c, checked, damaged)
	}
	if err == nil && len(damaged) > 0 {
		err = &failure{path: c.Flags().Arg(0), status: statusDamaged, err: fmt.Errorf("%d damaged of %d checked", len(damaged), checked)}
	}
	return err
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
	return s.engine.verify(ctx, s.store, s.path)
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
	_, err := fmt.Fprintf(c.OutOrStdout(), "checked %d, damaged %d\n", checked, len(damaged))
	return err
}
