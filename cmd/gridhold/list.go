package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/gridhold/gridhold/sdk/zarr"
)

func newList(g *globals) *cobra.Command {
	return command(g, "ls", "List the arrays and groups of a group, the keys of a store, the images of a stack or table", "",
		func(ctx context.Context, c *cobra.Command, s *source) error {
			if s.images != nil {
				return s.images.list(ctx, c.OutOrStdout(), g.json)
			}
			entries, err := s.list(ctx)
			if err != nil {
				return err
			}
			if g.json {
				if entries == nil {
					entries = []zarr.Entry{}
				}
				return writeJSON(c.OutOrStdout(), entries)
			}
			w := tabwriter.NewWriter(c.OutOrStdout(), 0, 8, 2, ' ', 0)
			for _, e := range entries {
				size := ""
				if e.DataType != "" {
					size = extents(e.Shape)
				}
				line := strings.Join([]string{e.Kind, e.DataType, size, oneLine(e.Path)}, "\t")
				if e.Error != "" {
					line += "\t" + oneLine(e.Error)
				}
				fmt.Fprintln(w, line)
			}
			return w.Flush()
		})
}

func (s *source) list(ctx context.Context) ([]zarr.Entry, error) {
	if s.opened != nil {
		return s.opened.list(ctx)
	}
	return s.engine.list(ctx, s.store, s.path)
}

// extents writes a shape as 10x7; that of a scalar is 1.
func extents(shape []int64) string {
	if len(shape) == 0 {
		return "1"
	}
	var parts []string
	for _, n := range shape {
		parts = append(parts, strconv.FormatInt(n, 10))
	}
	return strings.Join(parts, "x")
}
