package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
)

// rowsOf says which row of a table is the first to name each of some items,
// which are files or images. It reads the table once more: nobody remembers
// millions of rows for the sake of the one that is wrong.
func (m *images) rowsOf(ctx context.Context, items map[string]bool) (where map[string]string, err error) {
	if !m.table || len(items) == 0 {
		return nil, nil
	}
	where = map[string]string{}
	enough := errors.New("enough")
	_, err = m.rows(ctx, func(r image.TableRow) error {
		for _, item := range []string{r.Key, r.String()} {
			if items[item] && where[item] == "" {
				where[item] = "row " + strconv.FormatInt(r.Row, 10)
				if r.Line > 0 {
					where[item] = "line " + strconv.FormatInt(r.Line, 10)
				}
			}
		}
		if len(where) == len(items) {
			return enough
		}
		return nil
	})
	if errors.Is(err, enough) {
		err = nil
	}
	return where, err
}

// blame says which row of which table named what an error is about. Other
// errors befell the scratch.
func (in *scratchInput) blame(ctx context.Context, scratch string, err error) error {
	if err == nil || fault.CodeOf(err) == fault.CodeCancelled {
		return failed(scratch, err)
	}
	item := fault.DetailOf(err).Item
	for _, m := range in.all {
		where, _ := m.rowsOf(ctx, map[string]bool{item: true}) // a table that is gone now blames nobody
		if row := where[item]; row != "" {
			return failed(m.name, fmt.Errorf("%s: %w", row, err))
		}
	}
	return failed(scratch, err)
}
