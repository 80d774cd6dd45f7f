package main

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
)

const (
	particles = 120
	box       = 64 // pixels of a side
)

// makeParticles makes a stack of noisy projections of one thing, turned.
func makeParticles(_ context.Context, dir string) error {
	header := make([]byte, 1024)
	put := func(word int, values ...uint32) {
		for i, v := range values {
			binary.LittleEndian.PutUint32(header[4*(word+i):], v)
		}
	}
	cell := math.Float32bits(1.5 * box) // Å
	put(0, box, box, particles, 2, 0, 0, 0, box, box, 1, cell, cell, math.Float32bits(1.5))
	put(16, 1, 2, 3)
	copy(header[208:], "MAP DD\x00\x00")
	data := header
	random := rand.New(rand.NewPCG(3, 5))
	for range particles {
		turn, dy, dx := random.Float64()*2*math.Pi, random.NormFloat64()*2, random.NormFloat64()*2
		sin, cos := math.Sincos(turn)
		for y := range box {
			for x := range box {
				u, v := float64(x)-box/2+dx, float64(y)-box/2+dy
				u, v = u*cos-v*sin, u*sin+v*cos
				density := math.Exp(-(u*u/170+v*v/50)/1.6) + 0.8*math.Exp(-((u-12)*(u-12)+(v-9)*(v-9))/22) - 0.4*math.Exp(-(u*u+v*v)/14)
				data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(random.NormFloat64()*0.35-density)))
			}
		}
	}
	return os.WriteFile(filepath.Join(dir, "particles.mrcs"), data, 0o666)
}
