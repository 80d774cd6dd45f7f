// Command sharing is the worker of ours in bench/sharing.py: a process that has
// a Blosc2 container open together with others. It reads a line of JSON and
// answers with one.
package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gridhold/gridhold/bench/cpu"
	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/blosc2"
)

type request struct {
	Op      string  `json:"op"`
	Path    string  `json:"path"`
	Write   bool    `json:"write"`
	Locking bool    `json:"locking"`
	Count   int     `json:"count"`
	Rows    int64   `json:"rows"`    // of a batch
	Seconds float64 `json:"seconds"` // how long, where it is not count
	Pace    float64 `json:"pace"`    // seconds between batches
}

type answer struct {
	Seconds float64 `json:"seconds"`
	CPU     float64 `json:"cpu"`   // seconds of all threads
	Count   int64   `json:"count"` // what was done: calls, rows
	Sum     int64   `json:"sum"`   // to compare
	Error   string  `json:"error,omitempty"`
}

func main() {
	in, out := bufio.NewScanner(os.Stdin), json.NewEncoder(os.Stdout)
	var w worker
	for in.Scan() {
		var r request
		var a answer
		err := json.Unmarshal(in.Bytes(), &r)
		if err == nil {
			a, err = w.do(context.Background(), &r)
		}
		if err != nil {
			a.Error = err.Error()
		}
		if err := out.Encode(a); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// worker has one array open.
type worker struct{ a *blosc2.NDArray }

func (w *worker) do(ctx context.Context, r *request) (a answer, err error) {
	if r.Op == "open" {
		return a, w.open(ctx, r)
	}
	start, used := time.Now(), cpu.Seconds()
	switch r.Op {
	case "refresh":
		for range r.Count {
			changed, err := w.a.Refresh(ctx)
			if err != nil || changed {
				return a, errors.Join(err, fmt.Errorf("changed: %t", changed))
			}
		}
		a.Count = int64(r.Count)
	case "hold":
		for range r.Count {
			if err := w.a.HoldingLock(ctx, func(context.Context, *blosc2.NDArray) error { return nil }); err != nil {
				return a, err
			}
		}
		a.Count = int64(r.Count)
	case "vlmeta":
		for i := range r.Count {
			v, err := w.a.SChunk().VLObject(ctx, [...]string{"k0", "k1", "k2", "k3"}[i%4])
			if err != nil {
				return a, err
			}
			a.Sum += v.(int64)
		}
		a.Count = int64(r.Count)
	case "append": // of one axis, within the lock
		batch := make([]byte, 8*r.Rows)
		for i := range r.Count {
			for k := range r.Rows {
				binary.LittleEndian.PutUint64(batch[8*k:], uint64(i))
			}
			err := w.a.HoldingLock(ctx, func(ctx context.Context, held *blosc2.NDArray) error { return held.Append(ctx, 0, batch) })
			if err != nil {
				return a, err
			}
			a.Count += r.Rows
		}
	case "grow":
		a.Count, err = w.grow(ctx, r, start)
	case "follow":
		a.Count, err = w.follow(ctx, r, start)
	default:
		err = errors.New("no such op: " + r.Op)
	}
	a.Seconds, a.CPU = time.Since(start).Seconds(), cpu.Seconds()-used
	return a, err
}

func (w *worker) open(ctx context.Context, r *request) error {
	if w.a != nil {
		if err := w.a.Close(); err != nil {
			return err
		}
	}
	fs, err := file.OpenFS(filepath.Dir(r.Path))
	if err != nil {
		return err
	}
	o := blosc2.Options{Write: r.Write, Durability: blosc2.SyncNever}
	if r.Locking {
		o.Locking = blosc2.Locked
	}
	c, err := blosc2.Open(ctx, fs, filepath.Base(r.Path), o)
	if err != nil {
		return err
	}
	a, ok := c.(*blosc2.NDArray)
	if !ok {
		return errors.New("not an array")
	}
	w.a = a
	return nil
}

// grow appends batches of rows whose items are all their row's number, at a
// pace, for a time.
func (w *worker) grow(ctx context.Context, r *request, start time.Time) (rows int64, err error) {
	width := w.a.Shape().Shape[1]
	batch := make([]byte, 8*r.Rows*width)
	for i := 0; time.Since(start).Seconds() < r.Seconds; i++ {
		n := w.a.Shape().Shape[0]
		for k := range r.Rows * width {
			binary.LittleEndian.PutUint64(batch[8*k:], uint64(n+k/width))
		}
		if err := w.a.Append(ctx, 0, batch); err != nil {
			return rows, err
		}
		rows += r.Rows
		if r.Pace > 0 {
			time.Sleep(time.Until(start.Add(time.Duration(float64(i+1) * r.Pace * float64(time.Second)))))
		}
	}
	return rows, nil
}

// follow reads the last rows that had been there before the newest batch, and
// checks them.
func (w *worker) follow(ctx context.Context, r *request, start time.Time) (rows int64, err error) {
	width := w.a.Shape().Shape[1]
	var b []byte
	for time.Since(start).Seconds() < r.Seconds {
		if _, err := w.a.Refresh(ctx); err != nil {
			return rows, err
		}
		to := w.a.Shape().Shape[0] - r.Rows
		if to < r.Rows {
			continue
		}
		if b, err = w.a.Slice(ctx, []blosc2.Span{{Start: to - r.Rows, Stop: to}, {Start: 0, Stop: width}}, b[:0]); err != nil {
			return rows, err
		}
		for k := range r.Rows {
			if v := int64(binary.LittleEndian.Uint64(b[8*k*width:])); v != to-r.Rows+k {
				return rows, fmt.Errorf("row %d reads %d", to-r.Rows+k, v)
			}
		}
		rows += r.Rows
	}
	return rows, nil
}
