package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/blosc2"
)

// work is a process that takes part.
func work(ctx context.Context, j job) {
	out := json.NewEncoder(os.Stdout)
	tell := func(done, rows int64) {
		if err := out.Encode(step{Done: done, Rows: rows}); err != nil {
			os.Exit(1)
		}
	}
	if err := take(ctx, j, tell); err != nil {
		_ = out.Encode(step{Error: err.Error()})
		os.Exit(1)
	}
}

func take(ctx context.Context, j job, tell func(done, rows int64)) error {
	fs, err := file.OpenFS(filepath.Dir(j.Path))
	if err != nil {
		return err
	}
	o := options(j.Locking)
	o.Write = j.Role == "append" || j.Role == "assign"
	c, err := blosc2.Open(ctx, fs, filepath.Base(j.Path), o)
	if err != nil {
		return err
	}
	defer c.Close()
	a := c.(*blosc2.NDArray)
	switch j.Role {
	case "append":
		return grow(ctx, j, a, tell)
	case "assign":
		return assign(ctx, j, a, tell)
	case "whole":
		return readWhole(ctx, j, a, tell)
	}
	return follow(ctx, j, a, tell)
}

// grow appends batches, all items of which are the number of the writer and of
// the batch. What is between read and write belongs into the lock: here the
// batch says which row it begins at.
func grow(ctx context.Context, j job, a *blosc2.NDArray, tell func(done, rows int64)) error {
	for i := range j.Batches {
		rows := int64(0)
		err := a.HoldingLock(ctx, func(ctx context.Context, held *blosc2.NDArray) error {
			rows = held.Shape().Shape[0] + j.Batch
			return held.Append(ctx, 0, items(j.Batch*width, int64(j.Tag)<<32|int64(i)))
		})
		if err != nil {
			return err
		}
		tell(int64(i+1)*j.Batch, rows)
	}
	return nil
}

// assign sets all items, at once.
func assign(ctx context.Context, j job, a *blosc2.NDArray, tell func(done, rows int64)) error {
	rows := a.Shape().Shape[0]
	for i := range j.Batches {
		if err := a.SetSlice(ctx, nil, items(rows*width, int64(j.Tag)<<32|int64(i))); err != nil {
			return err
		}
		tell(int64(i+1)*j.Batch, rows)
	}
	return nil
}

// readWhole reads all items, which are of one assignment.
func readWhole(ctx context.Context, j job, a *blosc2.NDArray, tell func(done, rows int64)) error {
	for i := range j.Batches {
		b, err := a.Slice(ctx, nil, nil)
		if err != nil {
			return err
		}
		if err := alike(b); err != nil {
			return err
		}
		tell(int64(i+1)*j.Batch, a.Shape().Shape[0])
	}
	return nil
}

// follow reads what is new, batch by batch, until all is there. Each batch is
// whole as soon as it can be seen, because it is one commit.
func follow(ctx context.Context, j job, a *blosc2.NDArray, tell func(done, rows int64)) error {
	settled := int64(0)
	for change, err := range a.Watch(ctx) {
		if err != nil {
			return err
		}
		rows := change.Shape[0]
		for ; settled+j.Batch <= rows; settled += j.Batch {
			b, err := a.Slice(ctx, []blosc2.Span{{Start: settled, Stop: settled + j.Batch}, {Start: 0, Stop: width}}, nil)
			if err != nil {
				return err
			}
			if err := alike(b); err != nil && j.Locking {
				return fmt.Errorf("rows from %d: %w", settled, err)
			}
		}
		tell(settled, rows)
		if settled >= j.Until {
			return nil
		}
	}
	return nil
}

func items(n, value int64) []byte {
	b := make([]byte, 0, 8*n)
	for range n {
		b = binary.LittleEndian.AppendUint64(b, uint64(value))
	}
	return b
}

func alike(b []byte) error {
	for i := 8; i < len(b); i++ {
		if b[i] != b[i-8] {
			return fmt.Errorf("item %d is of another state", i/8)
		}
	}
	return nil
}
