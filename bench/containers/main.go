// Command containers encodes and decodes one array of float32 in Blosc2
// containers, as it is told on standard input.
//
//	containers DIR
//
// It is a worker of bench/containers.py; bench/README.md has the protocol.
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
	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/storage"
)

// The shape of the array, of a chunk (8 MiB) and of a block (256 KiB), in rows.
const cols, chunkRows, blockRows = 1024, 2048, 64

// job is a line of the input.
type job struct {
	Op      string // encode or decode
	Case    string // names the file that decode reads
	Codec   string
	Filter  string
	Level   int
	Threads int
	Count   int // how often
}

// answer is a line of the output.
type answer struct {
	Seconds float64 `json:"seconds"`
	CPU     float64 `json:"cpu"`   // seconds of all threads
	Size    int     `json:"size"`  // of the container, in bytes
	Check   uint32  `json:"check"` // CRC-32 of the elements
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: containers DIR")
		os.Exit(2)
	}
	if err := serve(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "containers:", err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, dir string) error {
	field, err := os.ReadFile(filepath.Join(dir, "field.f4"))
	if err != nil {
		return err
	}
	dst := make([]byte, len(field))
	answers := json.NewEncoder(os.Stdout)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var j job
		if err := json.Unmarshal(lines.Bytes(), &j); err != nil {
			return err
		}
		runtime.GOMAXPROCS(j.Threads)
		var a answer
		switch j.Op {
		case "encode":
			a, err = encode(ctx, field, j)
		case "decode":
			a, err = decode(ctx, filepath.Join(dir, j.Case+".b2nd"), dst, j)
		default:
			err = errors.New("no operation " + j.Op)
		}
		if err != nil {
			return err
		}
		if err := answers.Encode(a); err != nil {
			return err
		}
	}
	return nil
}

// encode writes the array to memory.
func encode(ctx context.Context, field []byte, j job) (a answer, err error) {
	codec, ok := blosc.CodecNamed(j.Codec)
	filter, known := map[string]blosc.FilterID{"shuffle": blosc.Shuffle, "bitshuffle": blosc.BitShuffle}[j.Filter]
	if !ok || !known {
		return a, errors.New("no codec or filter of that name")
	}
	shape := blosc2.Shape{
		DType: "<f4", Shape: []int64{int64(len(field)) / cols / 4, cols},
		Chunks: []int64{chunkRows, cols}, Blocks: []int64{blockRows, cols},
	}
	spec := blosc2.Spec{Params: blosc.Params{Codec: codec, Level: j.Level, Filters: []blosc.Filter{{ID: filter}}}}
	for range j.Count {
		fs := storage.NewMemoryFS(2 * int64(len(field)))
		err := timed(&a, func() error {
			b, err := blosc2.CreateArray(ctx, fs, "field.b2nd", shape, spec, blosc2.Options{Write: true, Workers: j.Threads})
			if err != nil {
				return err
			}
			if err := b.SetSlice(ctx, nil, field); err != nil {
				return err
			}
			return b.Close()
		})
		if err != nil {
			return a, err
		}
		info, err := fs.Stat(ctx, "field.b2nd")
		if err != nil {
			return a, err
		}
		a.Size = int(info.Size)
	}
	return a, nil
}

// decode reads the array of a file that lies in memory.
func decode(ctx context.Context, name string, dst []byte, j job) (a answer, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return a, err
	}
	fs := storage.NewMemoryFS(0)
	f, err := fs.Open(ctx, "field.b2nd", storage.OpenWrite|storage.OpenCreate)
	if err != nil {
		return a, err
	}
	if _, err := f.WriteAt(text, 0); err != nil {
		return a, err
	}
	if err := f.Close(); err != nil {
		return a, err
	}
	c, err := blosc2.Open(ctx, fs, "field.b2nd", blosc2.Options{Workers: j.Threads})
	if err != nil {
		return a, err
	}
	defer c.Close()
	b, ok := c.(*blosc2.NDArray)
	if !ok {
		return a, errors.New("no array")
	}
	for range j.Count {
		err := timed(&a, func() error {
			_, err := b.Slice(ctx, nil, dst[:0])
			return err
		})
		if err != nil {
			return a, err
		}
	}
	a.Size, a.Check = len(text), crc32.ChecksumIEEE(dst)
	return a, nil
}

// timed adds what do takes.
func timed(a *answer, do func() error) error {
	runtime.GC() // what came before is not charged
	start, used := time.Now(), cpu.Seconds()
	err := do()
	a.Seconds += time.Since(start).Seconds()
	a.CPU += cpu.Seconds() - used
	return err
}
