package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// readRows reads the table from a file, which it closes.
func (m *images) readRows(ctx context.Context, f storage.File, each func(image.TableRow) error) (info image.TableInfo, err error) {
	defer func() { err = errors.Join(err, f.Close()) }()
	return image.ReadTable(ctx, io.NewSectionReader(f, 0, math.MaxInt64), m.name, image.TableOptions{}, each)
}

// row returns what the k-th row names.
func (m *images) row(ctx context.Context, k int64) (l image.ImageLocation, err error) {
	found := errors.New("found")
	info, err := m.rows(ctx, func(r image.TableRow) error {
		if r.Row < k {
			return nil
		}
		l = r.ImageLocation
		return found
	})
	switch {
	case errors.Is(err, found):
		return l, nil
	case err == nil:
		err = fault.New(fault.ErrOutOfRange, "row", strconv.FormatInt(k, 10), fmt.Sprintf("the table has %d", info.Rows))
	}
	return l, err
}

// list prints the images of a file, or the rows of a table, in order.
func (m *images) list(ctx context.Context, w io.Writer, asJSON bool) error {
	out := bufio.NewWriter(w)
	n := 0
	line := func(l image.ImageLocation) error {
		if !asJSON {
			_, err := fmt.Fprintln(out, oneLine(l.String()))
			return err
		}
		index := any(l.Index)
		if l.IsWhole() {
			index = nil
		}
		text, err := json.Marshal(struct {
			Path  string `json:"path"`
			Index any    `json:"index"` // null: all of the file
		}{l.Key, index})
		if err != nil {
			return err
		}
		if n++; n > 1 {
			out.WriteByte(',')
		}
		_, err = fmt.Fprintf(out, "\n  %s", text)
		return err
	}
	if asJSON {
		out.WriteByte('[')
	}
	if err := m.eachLocation(ctx, line); err != nil {
		return errors.Join(err, out.Flush())
	}
	if asJSON && n > 0 {
		out.WriteByte('\n')
	}
	if asJSON {
		out.WriteString("]\n")
	}
	return out.Flush()
}

func (m *images) eachLocation(ctx context.Context, each func(image.ImageLocation) error) error {
	if m.table {
		_, err := m.rows(ctx, func(r image.TableRow) error { return each(r.ImageLocation) })
		return err
	}
	r, err := m.open(ctx, m.key, false)
	if err != nil {
		return err
	}
	defer r.Close()
	for i := range r.Describe().Count {
		if err := each(image.ImageLocation{Key: m.name, Index: i}); err != nil {
			return err
		}
	}
	return nil
}

// tableDescription is what info says of a table.
type tableDescription struct {
	Kind   string        `json:"kind"`
	Format string        `json:"format"`
	Block  string        `json:"block,omitempty"`
	Rows   int64         `json:"rows"`
	Images int64         `json:"images"` // each once
	Files  int           `json:"files"`
	Optics []opticsGroup `json:"optics_groups,omitempty"`
}

type opticsGroup struct {
	Group     int64   `json:"group"`
	Name      string  `json:"name,omitempty"`
	PixelSize float64 `json:"pixel_size,omitempty"`
}

// group reads the table and sorts what it names.
func (m *images) group(ctx context.Context) (g *image.ImageLocationGrouping, info image.TableInfo, err error) {
	g, groupErr := image.GroupLocations(func(yield func(image.ImageLocation) bool) {
		info, err = m.rows(ctx, func(r image.TableRow) error {
			yield(r.ImageLocation)
			return nil
		})
	})
	if err == nil {
		err = groupErr
	}
	return g, info, err
}

func (m *images) describeTable(ctx context.Context) (json.RawMessage, error) {
	g, info, err := m.group(ctx)
	if err != nil {
		return nil, err
	}
	d := tableDescription{Kind: "image table", Format: string(info.Kind), Block: info.Block, Rows: info.Rows, Images: g.Count(), Files: g.Len()}
	for n, o := range info.Groups {
		d.Optics = append(d.Optics, opticsGroup{n, o.Name, o.PixelSize})
	}
	slices.SortFunc(d.Optics, func(a, b opticsGroup) int { return int(max(min(a.Group-b.Group, 1), -1)) })
	return json.Marshal(d)
}

// verifyTable looks whether every image that the table names is there. It
// opens each file once and reads no pixels.
func (m *images) verifyTable(ctx context.Context) (checked int64, damaged []zarr.Damage, err error) {
	g, _, err := m.group(ctx)
	if err != nil {
		return 0, nil, err
	}
	files := m.provider(false)
	for i := range g.Len() {
		group := g.Group(i)
		checked += max(int64(len(group.Indices)), 1)
		r, err := files.Open(ctx, group.Key)
		if errors.Is(err, fault.ErrCancelled) {
			return checked, damaged, err
		}
		if err != nil {
			damaged = append(damaged, zarr.Damage{Item: group.Key, Off: -1, Text: err.Error()})
			continue
		}
		for _, index := range group.Indices {
			l := image.ImageLocation{Key: group.Key, Index: index}
			if _, _, err := r.Describe().Images(l); err != nil {
				damaged = append(damaged, zarr.Damage{Item: l.String(), Off: -1, Text: err.Error()})
			}
		}
		if err := r.Close(); err != nil {
			return checked, damaged, err
		}
	}
	items := map[string]bool{}
	for _, d := range damaged {
		items[d.Item] = true
	}
	rows, err := m.rowsOf(ctx, items)
	for i := range damaged {
		if row := rows[damaged[i].Item]; row != "" {
			damaged[i].Text = row + ": " + damaged[i].Text
		}
	}
	return checked, damaged, err
}
