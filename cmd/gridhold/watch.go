package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/fault"
)

func newWatch(g *globals) *cobra.Command {
	var handles int
	var until int64
	var during time.Duration
	c := &cobra.Command{
		Use:   "watch URL",
		Short: "Follow a container that grows, live",
		Long: `Follow a Blosc2 container while others write to it. Each handle reads what is new and shows how much is settled
there and how fast it reads: bars that are drawn again and again on a terminal, elsewhere a line for each change.

BLOSC_LOCKING locks the handles. It ends with an interrupt, which is no failure.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if handles < 1 || handles > 64 {
				return usagef("--handles: 1 to 64")
			}
			ctx, cancel := context.WithCancel(c.Context())
			defer cancel()
			if during > 0 {
				ctx, cancel = context.WithTimeout(ctx, during)
				defer cancel()
			}
			return failed(args[0], watchAll(ctx, c, g, args[0], handles, until))
		},
	}
	c.Flags().IntVar(&handles, "handles", 1, "how many handles follow it")
	c.Flags().Int64Var(&until, "until", 0, "end when this many rows (items of the first axis, or of a sequence) are settled; 0: go on")
	c.Flags().DurationVar(&during, "for", 0, "end after this time; 0: go on")
	return c
}

// watchAll follows a container with several handles.
func watchAll(ctx context.Context, c *cobra.Command, g *globals, name string, handles int, until int64) error {
	var wait sync.WaitGroup
	out := newBoard(c.OutOrStdout(), g.json, handles)
	failures := make([]error, handles)
	for i := range handles {
		k, err := openLocal(ctx, name, blosc2.Options{Locking: locking()})
		if err != nil {
			return err
		}
		defer k.Close()
		f, err := followed(k.Container)
		if err != nil {
			return err
		}
		wait.Go(func() { failures[i] = f.follow(ctx, until, func(s seen) { out.show(i, s) }) })
	}
	wait.Wait()
	out.end()
	for _, err := range failures {
		if err != nil {
			return err
		}
	}
	return nil
}

// follower is a container that is read as it grows.
type follower struct {
	frame *blosc2.SChunk
	array *blosc2.NDArray // nil: a sequence
}

func followed(c blosc2.Container) (*follower, error) {
	switch c := c.(type) {
	case *blosc2.NDArray:
		return &follower{c.SChunk(), c}, nil
	case *blosc2.SChunk:
		return &follower{c, nil}, nil
	case *blosc2.EmbedStore:
		return &follower{c.SChunk(), nil}, nil
	case *blosc2.DictStore:
		return &follower{c.Embedded().SChunk(), nil}, nil
	case *blosc2.TreeStore:
		return &follower{c.DictStore().Embedded().SChunk(), nil}, nil
	}
	return nil, fault.New(fault.ErrUnsupported, "watch", c.Kind(), "")
}

// seen is what a handle has seen so far.
type seen struct {
	Handle  int     `json:"handle"`
	Tick    uint64  `json:"tick"`
	Rows    int64   `json:"rows"` // settled: read by this handle
	Chunks  int64   `json:"chunks"`
	Bytes   int64   `json:"bytes"`   // read by this handle
	Seconds float64 `json:"seconds"` // since it began
}

// follow tells of each change, after what is new was read.
func (f *follower) follow(ctx context.Context, until int64, tell func(seen)) error {
	began := time.Now()
	var s seen
	var buf []byte
	for change, err := range f.frame.Watch(ctx) {
		if ctx.Err() != nil {
			return nil // which is how it ends
		}
		if err != nil {
			return err
		}
		s.Tick, s.Chunks = change.Tick, change.Chunks
		rows := change.Header.Size / max(int64(change.Header.TypeSize), 1)
		if f.array != nil && len(change.Shape) > 0 {
			rows = change.Shape[0]
		}
		for s.Rows = min(s.Rows, rows); s.Rows < rows; {
			to, err := f.read(ctx, s.Rows, rows, change.Shape, &buf)
			if ctx.Err() != nil {
				return nil
			}
			if fault.CodeOf(err) == fault.CodeOutOfRange { // it shrank meanwhile
				break
			}
			if err != nil {
				return err
			}
			s.Rows, s.Bytes = to, s.Bytes+int64(len(buf))
		}
		s.Seconds = time.Since(began).Seconds()
		tell(s)
		if until > 0 && s.Rows >= until {
			return nil
		}
	}
	return nil
}

const watchPiece = 8 << 20 // bytes read at once, about

// read reads rows from from on, and returns up to which.
func (f *follower) read(ctx context.Context, from, rows int64, shape []int64, buf *[]byte) (to int64, err error) {
	width := int64(f.frame.Header().TypeSize)
	for _, n := range shape[min(1, len(shape)):] {
		width *= n
	}
	to = min(rows, from+max(watchPiece/max(width, 1), 1))
	if f.array == nil {
		*buf, err = f.frame.Slice(ctx, from, to, (*buf)[:0])
		return to, err
	}
	spans := []blosc2.Span{{Start: from, Stop: to, Step: 1}}
	for _, n := range shape[min(1, len(shape)):] {
		spans = append(spans, blosc2.Span{Start: 0, Stop: n, Step: 1})
	}
	*buf, err = f.array.Slice(ctx, spans, (*buf)[:0])
	return to, err
}

// board shows what the handles have seen: bars on a terminal, lines elsewhere.
type board struct {
	mu    sync.Mutex
	w     io.Writer
	json  bool
	bars  bool
	last  []seen
	drawn time.Time
	lines int
}

func newBoard(w io.Writer, json bool, handles int) *board {
	b := &board{w: w, json: json, last: make([]seen, handles)}
	if f, ok := w.(*os.File); ok && !json {
		info, err := f.Stat()
		b.bars = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return b
}

func (b *board) show(handle int, s seen) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s.Handle = handle
	b.last[handle] = s
	switch {
	case b.json:
		line, err := json.Marshal(s)
		if err == nil {
			fmt.Fprintf(b.w, "%s\n", line)
		}
	case !b.bars:
		fmt.Fprintln(b.w, s)
	case time.Since(b.drawn) > 50*time.Millisecond:
		b.draw()
	}
}

func (b *board) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bars {
		b.draw()
	}
}

// draw draws all bars over those before. The fullest is the furthest handle.
func (b *board) draw() {
	const width = 30
	b.drawn = time.Now()
	furthest := int64(1)
	for _, s := range b.last {
		furthest = max(furthest, s.Rows)
	}
	if b.lines > 0 {
		fmt.Fprintf(b.w, "\x1b[%dA", b.lines)
	}
	b.lines = len(b.last)
	for i, s := range b.last {
		s.Handle = i
		full := int(s.Rows * width / furthest)
		fmt.Fprintf(b.w, "\r[%-*s] %v\x1b[K\n", width, "##############################"[:full], s)
	}
}

// String is the line of a change.
func (s seen) String() string {
	return fmt.Sprintf("handle %d: %d rows settled in %d chunks, change %d, %.1f MB/s",
		s.Handle, s.Rows, s.Chunks, s.Tick, float64(s.Bytes)/1e6/max(s.Seconds, 1e-3))
}
