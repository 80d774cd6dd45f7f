// Command reads reads subchunks or whole shards as it is told on standard
// input.
//
//	reads native|wasm|guest|pread DIR
//
// pread is no reader but a limit: it knows where the bytes lie, and reads them
// into the same memory again and again. It is a worker of bench/run.py; bench/README.md has the protocol.
package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gridhold/gridhold/bench/cpu"
)

const edge, shard = 256, 32 // of the grid of subchunks, and of a shard in it

// reader returns the subchunk at a place. buf is memory of an earlier answer
// that it may use again.
type reader func(ctx context.Context, at []int64, buf []byte) ([]byte, error)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: reads native|wasm|guest|pread DIR")
		os.Exit(2)
	}
	if err := serve(context.Background(), os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "reads:", err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, engine, dir string) error {
	open := opener(native)
	switch engine {
	case "native":
	case "pread":
		open = bare
	default:
		var err error
		if open, err = sandboxed(ctx, engine == "guest"); err != nil {
			return err
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "picks.json"))
	if err != nil {
		return err
	}
	var picks [][]int64
	if err := json.Unmarshal(text, &picks); err != nil {
		return err
	}
	readers := map[string]reader{}
	answers := json.NewEncoder(os.Stdout)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var job struct {
			Array   string
			Threads int
			Count   int
			Whole   bool
			Cold    bool // with a cache that knows nothing, a subchunk of each of count rows
		}
		if err := json.Unmarshal(lines.Bytes(), &job); err != nil {
			return err
		}
		if job.Cold {
			read, err := open(ctx, filepath.Join(dir, job.Array), false)
			if err != nil {
				return err
			}
			rows := make([][]int64, job.Count)
			for i := range rows {
				rows[i] = []int64{int64(i), 0}
			}
			if err := answer(ctx, answers, read, rows, job.Threads, firstByte); err != nil {
				return err
			}
			continue
		}
		name := job.Array
		if job.Whole {
			name += ", whole"
		}
		if readers[name] == nil {
			r, err := open(ctx, filepath.Join(dir, job.Array), job.Whole)
			if err == nil {
				err = warm(ctx, r)
			}
			if err != nil {
				return err
			}
			readers[name] = r
		}
		if err := answer(ctx, answers, readers[name], picks[:job.Count], job.Threads, firstShort); err != nil {
			return err
		}
	}
	return nil
}

// answer measures and tells.
func answer(ctx context.Context, to *json.Encoder, read reader, picks [][]int64, threads int, first func([]byte) uint64) error {
	before := cpu.Seconds()
	took, check, err := measure(ctx, read, picks, threads, first)
	if err != nil {
		return err
	}
	return to.Encode(map[string]any{"seconds": took.Seconds(), "cpu": cpu.Seconds() - before, "check": check})
}

// The first element of a subchunk, by which readers are compared.
func firstShort(b []byte) uint64 { return uint64(binary.LittleEndian.Uint16(b)) }
func firstByte(b []byte) uint64  { return uint64(b[0]) }

// warm reads a subchunk of each shard.
func warm(ctx context.Context, read reader) error {
	for i := int64(0); i < edge; i += shard {
		for j := int64(0); j < edge; j += shard {
			if _, err := read(ctx, []int64{i, j}, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

func measure(ctx context.Context, read reader, picks [][]int64, threads int, first func([]byte) uint64) (took time.Duration, check uint64, err error) {
	var all sync.WaitGroup
	sums, errs := make([]uint64, threads), make([]error, threads)
	began := time.Now()
	for t := range threads {
		all.Go(func() {
			var buf []byte
			var sum uint64 // not sums[t]: threads would share its cache line
			for i := t; i < len(picks) && errs[t] == nil; i += threads {
				if buf, errs[t] = read(ctx, picks[i], buf); errs[t] == nil {
					sum += first(buf)
				}
			}
			sums[t] = sum
		})
	}
	all.Wait()
	took = time.Since(began)
	for t := range threads {
		check += sums[t]
		if err == nil {
			err = errs[t]
		}
	}
	return took, check, err
}
