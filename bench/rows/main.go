// Command rows is the worker of ours in bench/rows.py: it reads rows of arrays
// in Blosc2 containers, one at a time, as it is told on standard input.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/gridhold/gridhold/bench/cpu"
	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/blosc2"
)

// job is a line of the input.
type job struct {
	Op   string // open, rows
	Path string
	Mode string  // plain, locked, mapped
	Rows []int64 // which to read
}

// answer is a line of the output.
type answer struct {
	Seconds float64 `json:"seconds"`
	CPU     float64 `json:"cpu"`   // seconds of all threads
	Check   uint32  `json:"check"` // CRC-32 of what was read
}

func main() {
	runtime.GOMAXPROCS(1)
	if err := serve(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "rows:", err)
		os.Exit(1)
	}
}

func serve(ctx context.Context) error {
	var a *blosc2.NDArray
	answers := json.NewEncoder(os.Stdout)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var j job
		if err := json.Unmarshal(lines.Bytes(), &j); err != nil {
			return err
		}
		var result answer
		var err error
		switch j.Op {
		case "open":
			if a != nil {
				a.Close()
			}
			a, err = open(ctx, j)
		case "rows":
			result, err = rows(ctx, a, j.Rows)
		default:
			err = errors.New("no operation " + j.Op)
		}
		if err != nil {
			return err
		}
		if err := answers.Encode(result); err != nil {
			return err
		}
	}
	return lines.Err()
}

func open(ctx context.Context, j job) (*blosc2.NDArray, error) {
	fs, err := file.OpenFS(filepath.Dir(j.Path))
	if err != nil {
		return nil, err
	}
	o := blosc2.Options{Map: j.Mode == "mapped"}
	if j.Mode == "locked" {
		o.Locking = blosc2.Locked
	}
	c, err := blosc2.Open(ctx, fs, filepath.Base(j.Path), o)
	if err != nil {
		return nil, err
	}
	a, ok := c.(*blosc2.NDArray)
	if !ok {
		return nil, errors.New("no array")
	}
	return a, nil
}

// rows reads rows into memory of their own each, as python-blosc2 does, and
// checks them apart from the time that it takes.
func rows(ctx context.Context, a *blosc2.NDArray, which []int64) (r answer, err error) {
	width := a.Shape().Shape[1]
	read := make([][]byte, len(which))
	runtime.GC() // what came before is not charged
	start, used := time.Now(), cpu.Seconds()
	for i, row := range which {
		if read[i], err = a.Slice(ctx, []blosc2.Span{{Start: row, Stop: row + 1}, {Start: 0, Stop: width}}, nil); err != nil {
			return r, err
		}
	}
	r.Seconds, r.CPU = time.Since(start).Seconds(), cpu.Seconds()-used
	for _, b := range read {
		r.Check = crc32.Update(r.Check, crc32.IEEETable, b)
	}
	return r, nil
}
