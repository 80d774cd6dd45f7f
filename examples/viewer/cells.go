package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/zarr"
)

const (
	channels = 2
	slices   = 4
	side     = 1024 // pixels of a slice, of the finest level
	levels   = 3
	subchunk = 64
)

// cell is what the picture shows: something round that a ring is around.
type cell struct{ z, y, x, size, light float64 }

func cells() []cell {
	random := rand.New(rand.NewPCG(7, 11))
	all := make([]cell, 150)
	for i := range all {
		all[i] = cell{random.Float64() * slices, random.Float64() * side, random.Float64() * side, 14 + 22*random.Float64(), 0.4 + 0.6*random.Float64()}
	}
	return all
}

// makeCells makes a sharded pyramid: OME-Zarr 0.5 with two channels.
func makeCells(ctx context.Context, dir string) error {
	dir = filepath.Join(dir, "cells.ome.zarr")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	store, err := file.Open(dir, file.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	if _, err := zarr.CreateGroup(ctx, store, "", pyramid(), zarr.Options{}); err != nil {
		return err
	}
	for l := range levels {
		n := int64(side >> l)
		shard := min(n, 512)
		a, err := zarr.CreateArray(ctx, store, fmt.Sprint(l), zarr.ArraySpec{
			Shape: []int64{channels, slices, n, n}, ChunkShape: []int64{1, 1, shard, shard}, SubchunkShape: []int64{1, 1, subchunk, subchunk},
			DataType: "uint16", DimensionNames: []string{"c", "z", "y", "x"},
		}, zarr.Options{})
		if err != nil {
			return err
		}
		for c := range int64(channels) {
			for z := range int64(slices) {
				if err := a.StoreRegion(ctx, []int64{c, z, 0, 0}, []int64{c + 1, z + 1, n, n}, plane(c, z, l)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// pyramid is the metadata of the group.
func pyramid() json.RawMessage {
	type object = map[string]any
	axis := func(name, kind string) object {
		a := object{"name": name, "type": kind}
		if kind == "space" {
			a["unit"] = "micrometer"
		}
		return a
	}
	var sets []object
	for l := range levels {
		k := math.Exp2(float64(l))
		sets = append(sets, object{"path": fmt.Sprint(l), "coordinateTransformations": []object{
			{"type": "scale", "scale": []float64{1, 2, 0.25 * k, 0.25 * k}},
			{"type": "translation", "translation": []float64{0, 0, 0.125 * (k - 1), 0.125 * (k - 1)}},
		}})
	}
	channel := func(label, colour string, end int) object {
		return object{"label": label, "color": colour, "active": true, "window": object{"min": 0, "max": 4095, "start": 120, "end": end}}
	}
	text, err := json.Marshal(object{"ome": object{
		"version": "0.5",
		"multiscales": []object{{"name": "cells", "datasets": sets, "axes": []object{
			axis("c", "channel"), axis("z", "space"), axis("y", "space"), axis("x", "space"),
		}}},
		"omero": object{"channels": []object{channel("nuclei", "4FB7FF", 2600), channel("membranes", "FF8A3D", 1800)}},
	}})
	if err != nil {
		panic(err) // numbers and names
	}
	return text
}

// plane is a slice of a channel at a level, as it would be seen there.
func plane(c, z int64, l int) []byte {
	n, step := side>>l, float64(int(1)<<l)
	light := make([]float64, n*n)
	for _, cell := range cells() {
		dz := (cell.z - float64(z) - 0.5) * 12
		reach := 2.5 * cell.size
		for y := max(0, int((cell.y-reach)/step)); y < min(n, int((cell.y+reach)/step)+1); y++ {
			for x := max(0, int((cell.x-reach)/step)); x < min(n, int((cell.x+reach)/step)+1); x++ {
				d := math.Sqrt(dz*dz+math.Pow((float64(y)+0.5)*step-cell.y, 2)+math.Pow((float64(x)+0.5)*step-cell.x, 2)) / cell.size
				if c == 0 {
					light[y*n+x] += cell.light * math.Exp(-4*d*d)
				} else {
					light[y*n+x] += cell.light * math.Exp(-40*(d-1.1)*(d-1.1))
				}
			}
		}
	}
	noise := rand.New(rand.NewPCG(uint64(c), uint64(z)<<8|uint64(l)))
	data := make([]byte, 0, 2*n*n)
	for _, v := range light {
		data = binary.LittleEndian.AppendUint16(data, uint16(max(0, 130+2500*v+noise.NormFloat64()*30/step)))
	}
	return data
}
