// Command plugins measures what it costs that plugins can be interrupted: the
// same codecs of testdata/plugins on the same chunks, by the counter, by
// wazero, and not at all, in turn. usage: plugins TESTDATA OUT ROUNDS
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gridhold/gridhold/bench/cpu"
	"github.com/gridhold/gridhold/host/plugin"
	"github.com/gridhold/gridhold/sdk/codec"
)

// The bounds that the counter is held to, as a ratio to no interruption.
const (
	mostMedian = 1.10
	mostWorst  = 1.25
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: plugins TESTDATA OUT ROUNDS")
		os.Exit(2)
	}
	rounds, err := strconv.Atoi(os.Args[3])
	if err == nil {
		err = run(context.Background(), os.Args[1], os.Args[2], rounds)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// load is something for a plugin to do.
type load struct {
	name, module, codec string
	configuration       json.RawMessage
	src                 []byte
	encode              bool
	limit               int
}

var ways = []plugin.Interruption{plugin.Never, plugin.Counter, plugin.Runtime}

func run(ctx context.Context, dir, out string, rounds int) error {
	all, err := loads(dir)
	if err != nil {
		return err
	}
	var table strings.Builder
	table.WriteString("| codec | microseconds without | counter | wazero's own |\n| --- | ---: | ---: | ---: |\n")
	var counter, runtime []float64
	for _, l := range all {
		seconds, err := l.measure(ctx, dir, rounds)
		if err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		ratio := func(way int) float64 {
			var r []float64
			for i := range rounds {
				r = append(r, seconds[way][i]/seconds[0][i])
			}
			return median(r)
		}
		counter, runtime = append(counter, ratio(1)), append(runtime, ratio(2))
		fmt.Fprintf(&table, "| %s | %.1f | %.2f | %.2f |\n", l.name, 1e6*median(seconds[0]), counter[len(counter)-1], runtime[len(runtime)-1])
	}
	fmt.Fprintf(&table, "| median | | %.2f (at most %.2f) | %.2f |\n", median(counter), mostMedian, median(runtime))
	fmt.Fprintf(&table, "| worst | | %.2f (at most %.2f) | %.2f |\n", slices.Max(counter), mostWorst, slices.Max(runtime))
	if err := handIn(out, counter, rounds); err != nil {
		return err
	}
	fmt.Print("plugins that can be interrupted, as a ratio to those that cannot (processor time, medians of ", rounds, " rounds)\n\n", table.String())
	return os.WriteFile(filepath.Join(out, "plugins.md"), []byte(table.String()), 0o644)
}

// handIn writes the figure for bench/report.py; bench/results.py says what a
// line has.
func handIn(out string, counter []float64, rounds int) error {
	if err := os.MkdirAll(filepath.Join(out, "results"), 0o755); err != nil {
		return err
	}
	v := slices.Sorted(slices.Values(counter))
	line, err := json.Marshal(map[string]any{
		"what": "processor time of a plugin that can be interrupted", "of": "plugins", "peer": "not interrupted", "unit": "x", "ours": median(v), "theirs": 1,
		"ratio": median(v), "quartiles": []float64{v[len(v)/4], v[3*len(v)/4]}, "rounds": rounds, "goal": mostMedian, "most": true,
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, "results", "plugins.jsonl"), append(line, '\n'), 0o644)
}

// measure is the processor time of one call, by ways and rounds.
func (l load) measure(ctx context.Context, dir string, rounds int) ([][]float64, error) {
	wasm, err := os.ReadFile(filepath.Join(dir, l.module+".wasm"))
	if err != nil {
		return nil, err
	}
	var calls []func() error
	for _, way := range ways {
		p, err := plugin.Open(ctx, wasm, plugin.Options{Interruption: way, Instances: 1})
		if err != nil {
			return nil, err
		}
		defer p.Close()
		b, err := p.BytesCodec(l.codec, l.configuration)
		if err != nil {
			return nil, err
		}
		dst := make([]byte, 0, l.limit)
		calls = append(calls, func() error {
			if l.encode {
				_, err := b.(codec.Encoder).Encode(dst, l.src)
				return err
			}
			_, err := b.Decode(ctx, dst, l.src, l.limit)
			return err
		})
	}
	const aim = 30 * time.Millisecond
	began, n := time.Now(), 0
	for ; time.Since(began) < aim; n++ {
		for _, call := range calls[:2] {
			if err := call(); err != nil {
				return nil, err
			}
		}
	}
	seconds := make([][]float64, len(ways))
	for range rounds {
		for way, call := range calls {
			before := cpu.Seconds()
			for range n {
				if err := call(); err != nil {
					return nil, err
				}
			}
			seconds[way] = append(seconds[way], (cpu.Seconds()-before)/float64(n))
		}
	}
	return seconds, nil
}

// loads are chunks of the arrays beside the plugins, and what they decode to.
func loads(dir string) ([]load, error) {
	var out []load
	for _, c := range []struct{ name, module, codec, array string }{
		{"TIFF LZW", "tiff", "imagecodecs_lzw", "lzw.zarr"},
		{"TIFF PackBits", "tiff", "imagecodecs_packbits", "packbits.zarr"},
		{"AEC, 8 bits", "aec", "imagecodecs_aec", "aec-8-8.zarr"},
		{"AEC, 12 bits", "aec", "imagecodecs_aec", "aec-12-8.zarr"},
		{"AEC, 16 bits, signed", "aec", "imagecodecs_aec", "aec-16-9.zarr"},
		{"AEC, 16 bits, not predicted", "aec", "imagecodecs_aec", "aec-16-0.zarr"},
		{"AEC, 32 bits", "aec", "imagecodecs_aec", "aec-32-9.zarr"},
	} {
		meta, err := os.ReadFile(filepath.Join(dir, "arrays", c.array, ".zarray"))
		if err != nil {
			return nil, err
		}
		src, err := os.ReadFile(filepath.Join(dir, "arrays", c.array, "0.0"))
		if err != nil {
			return nil, err
		}
		var d struct {
			Compressor json.RawMessage
			Chunks     []int
			DType      string
		}
		if err := json.Unmarshal(meta, &d); err != nil {
			return nil, err
		}
		size := d.Chunks[0] * d.Chunks[1] * int(d.DType[2]-'0')
		out = append(out, load{name: c.name, module: c.module, codec: c.codec, configuration: d.Compressor, src: src, limit: size})
	}
	// Runs of 1 to 16 bytes, and bytes between them.
	var runs []byte
	for i := range 4000 {
		runs = append(runs, bytes.Repeat([]byte{byte(i * 7)}, 1+i*i%16)...)
		runs = append(runs, byte(i), byte(i*3), byte(i*5))
	}
	return append(out, load{name: "TIFF PackBits, packing", module: "tiff", codec: "imagecodecs_packbits", src: runs, encode: true, limit: 2*len(runs) + 16}), nil
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}
