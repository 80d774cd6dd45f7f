// Command viewer makes a directory with one of each kind that the page of
// "gridhold serve" shows, and lets its container grow:
//
//	go run ./examples/viewer /tmp/demo              # cells.ome.zarr, waves.b2nd, particles.mrcs
//	gridhold serve /tmp/demo                        # and open the URL that it prints
//	go run ./examples/viewer -grow 100 /tmp/demo    # while waves.b2nd is looked at
//
// What it makes is the same each time.
package main

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/blosc2"
)

func main() {
	grow := flag.Int("grow", 0, "make nothing, add so many pieces to waves.b2nd")
	every := flag.Duration("every", 100*time.Millisecond, "time between two pieces")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: viewer [-grow N] DIR")
		os.Exit(2)
	}
	do := func() error { return makeAll(context.Background(), flag.Arg(0)) }
	if *grow > 0 {
		do = func() error { return growWaves(context.Background(), flag.Arg(0), *grow, *every) }
	}
	if err := do(); err != nil {
		fmt.Fprintln(os.Stderr, "viewer:", err)
		os.Exit(1)
	}
}

func makeAll(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for _, make := range []func(context.Context, string) error{makeCells, makeWaves, makeParticles} {
		if err := make(ctx, dir); err != nil {
			return err
		}
	}
	return nil
}

const (
	width = 384 // numbers of a row
	piece = 16  // rows that are added at once
)

// makeWaves makes an array of rows, with its first piece.
func makeWaves(ctx context.Context, dir string) error {
	fs, err := file.OpenFS(dir)
	if err != nil {
		return err
	}
	defer fs.Close()
	shape := blosc2.Shape{Shape: []int64{0, width}, Chunks: []int64{64, width}, Blocks: []int64{32, 192}, DType: "<f4"}
	a, err := blosc2.CreateArray(ctx, fs, "waves.b2nd", shape, blosc2.Spec{}, blosc2.Options{Write: true})
	if err != nil {
		return err
	}
	defer a.Close()
	return addWaves(ctx, a)
}

// growWaves adds pieces, each of which is one commit.
func growWaves(ctx context.Context, dir string, pieces int, every time.Duration) error {
	fs, err := file.OpenFS(dir)
	if err != nil {
		return err
	}
	defer fs.Close()
	c, err := blosc2.Open(ctx, fs, "waves.b2nd", blosc2.Options{Write: true})
	if err != nil {
		return err
	}
	defer c.Close()
	a := c.(*blosc2.NDArray)
	for i := range pieces {
		if i > 0 {
			time.Sleep(every)
		}
		if err := addWaves(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// addWaves adds a piece: rings around two places, the farther down the finer.
func addWaves(ctx context.Context, a *blosc2.NDArray) error {
	var rows []byte
	for y := a.Shape().Shape[0]; len(rows) < piece*width*4; y++ {
		for x := range width {
			p, q := math.Hypot(float64(y)-40, float64(x)-110), math.Hypot(float64(y)-260, float64(x)-300)
			v := math.Sin(p/7)*math.Exp(-p/240) + math.Sin(q/(4+float64(y)/80))*math.Exp(-q/200)
			rows = binary.LittleEndian.AppendUint32(rows, math.Float32bits(float32(v)))
		}
	}
	return a.Append(ctx, 0, rows)
}
