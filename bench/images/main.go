// Command images goes through particle stacks as a training program does, and
// says how long that took.
//
//	images epochs DATA MODE RUN EPOCHS BATCH WORKERS SCRATCH    MODE: none, host, mapped or directory
//	images start DATA SCRATCH                                  a scratch over many files: made, resumed, read
//	images locations DATA SCRATCH                              as many locations as there are, once each
//	images orphan DATA SCRATCH                                 a full scratch whose stacks are removed: DATA is lost
//
// It is a worker of bench/images.py and prints one line of JSON. The first
// pixel of every image holds its number, so that each one is checked.
package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gridhold/gridhold/bench/cpu"
	"github.com/gridhold/gridhold/native/clock"
	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/scratch"
)

var options = scratch.Options{Clock: clock.System{}}

func main() {
	answer, err := run(context.Background(), os.Args[1:])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(answer)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "images:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (any, error) {
	switch {
	case len(args) == 8 && args[0] == "epochs":
		var numbers [4]int
		for i, text := range args[3:7] {
			n, err := strconv.Atoi(text)
			if err != nil {
				return nil, err
			}
			numbers[i] = n
		}
		return epochs(ctx, args[1], args[2], numbers[0], numbers[1], numbers[2], numbers[3], args[7])
	case len(args) == 3 && args[0] == "start":
		return start(ctx, args[1], args[2])
	case len(args) == 3 && args[0] == "locations":
		return locations(ctx, args[1], args[2])
	case len(args) == 3 && args[0] == "orphan":
		return orphan(ctx, args[1], args[2])
	}
	return nil, errors.New("usage: images epochs DATA MODE RUN EPOCHS BATCH WORKERS SCRATCH | start DATA SCRATCH | locations DATA SCRATCH | orphan DATA SCRATCH")
}

// desk is a directory of stacks, and one for a scratch.
type desk struct {
	fs, out *file.FS
	files   image.ReaderProvider
	all     []image.ImageLocation // of every image, stack by stack
	size    int                   // of an image in bytes
}

func open(ctx context.Context, data, name string) (*desk, error) {
	fs, err := file.OpenFS(data)
	if err != nil {
		return nil, err
	}
	out, err := file.OpenFS(filepath.Dir(name))
	if err != nil {
		return nil, err
	}
	d := &desk{fs: fs, out: out, files: image.Files(fs, image.FilesOptions{})}
	names, err := fs.List(ctx, "")
	if err != nil {
		return nil, err
	}
	for _, n := range slices.DeleteFunc(names, func(n string) bool { return !strings.HasSuffix(n, ".mrcs") }) {
		if d.size == 0 {
			r, err := d.files.Open(ctx, n)
			if err != nil {
				return nil, err
			}
			d.size = int(r.Describe().ImageBytes())
			r.Close()
		}
		info, err := fs.Stat(ctx, n)
		if err != nil {
			return nil, err
		}
		for i := range (info.Size - 1024) / int64(d.size) {
			d.all = append(d.all, image.ImageLocation{Key: n, Index: i})
		}
	}
	return d, nil
}

// group sorts the locations.
func (d *desk) group() (*image.ImageLocationGrouping, error) {
	return image.GroupLocations(slices.Values(d.all))
}

// epoch is how one went.
type epoch struct {
	Seconds float64 `json:"s"`
	CPU     float64 `json:"cpu"` // seconds of all threads
	Bad     int     `json:"bad"`
}

type epochsAnswer struct {
	Create float64 `json:"create_s"`
	Epochs []epoch `json:"epochs"`
}

func epochs(ctx context.Context, data, mode string, runLength, count, batch, workers int, name string) (any, error) {
	d, err := open(ctx, data, name)
	if err != nil {
		return nil, err
	}
	var a epochsAnswer
	began := time.Now()
	var s *scratch.ImageScratch
	var files image.ReaderProvider = d.files
	if mode != "none" {
		g, err := d.group()
		if err != nil {
			return nil, err
		}
		switch mode {
		case "host":
			s, err = scratch.CreateHostImageScratch(ctx, g, int64(runLength), scratch.Everything, d.files, options)
		case "mapped":
			s, err = scratch.CreateMappedFileImageScratch(ctx, g, d.out, filepath.Base(name), int64(runLength), scratch.Everything, d.files, options)
		case "directory":
			s, err = scratch.CreateDirectoryImageScratch(ctx, g, d.out, filepath.Base(name), int64(runLength), 8<<30, d.files, options)
		default:
			err = errors.New("no mode " + mode)
		}
		if err != nil {
			return nil, err
		}
		defer s.Close()
		p, err := scratch.ReaderProvider(s)
		if err != nil {
			return nil, err
		}
		defer p.Close()
		files = p
	}
	a.Create = time.Since(began).Seconds()
	l, err := scratch.NewLoader(files, scratch.LoaderOptions{Workers: workers, OpenFiles: 64})
	if err != nil {
		return nil, err
	}
	defer l.Close()
	dst, places := make([]byte, batch*d.size), make([]image.ImageLocation, batch)
	clear(dst)
	for e := range count {
		order := scratch.Sampler{Count: int64(len(d.all)), Batch: int64(batch), Shuffle: true, Seed: 3}.Order(int64(e))
		bad := 0
		began, used := time.Now(), cpu.Seconds()
		for len(order) > 0 {
			n := min(batch, len(order))
			for i, row := range order[:n] {
				places[i] = d.all[row]
			}
			if err := l.ReadBatch(ctx, dst[:n*d.size], places[:n]); err != nil {
				return nil, err
			}
			for i, row := range order[:n] {
				if math.Float32frombits(binary.LittleEndian.Uint32(dst[i*d.size:])) != float32(row) {
					bad++
				}
			}
			order = order[n:]
		}
		a.Epochs = append(a.Epochs, epoch{time.Since(began).Seconds(), cpu.Seconds() - used, bad})
	}
	return a, nil
}

// start makes a scratch over many small files, fills it and goes on with it.
func start(ctx context.Context, data, name string) (any, error) {
	d, err := open(ctx, data, name)
	if err != nil {
		return nil, err
	}
	g, err := d.group()
	if err != nil {
		return nil, err
	}
	create := func() (*scratch.ImageScratch, float64, error) {
		began := time.Now()
		s, err := scratch.CreateMappedFileImageScratch(ctx, g, d.out, filepath.Base(name), 10, scratch.Everything, d.files, options)
		return s, time.Since(began).Seconds(), err
	}
	s, created, err := create()
	if err != nil {
		return nil, err
	}
	if err := scratch.PrefetchScratch(ctx, s, g, scratch.NewExecutor(2), nil).Wait(ctx); err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	s, resumed, err := create()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	began := time.Now()
	dst := make([]byte, d.size)
	for k := range 200 {
		l := d.all[k*997%len(d.all)]
		if err := s.ReadImages(ctx, l.Key, dst, l.Index); err != nil {
			return nil, err
		}
	}
	return map[string]float64{"create_s": created, "resume_s": resumed, "read_ms": time.Since(began).Seconds() * 1000 / 200}, nil
}

// locations sorts every location and lays a scratch out for them.
func locations(ctx context.Context, data, name string) (any, error) {
	d, err := open(ctx, data, name)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	g, err := d.group()
	if err != nil {
		return nil, err
	}
	grouped := time.Since(began).Seconds()
	open := func() (float64, error) {
		began := time.Now()
		s, err := scratch.CreateMappedFileImageScratch(ctx, g, d.out, filepath.Base(name), 16, scratch.Everything, d.files, options)
		if err != nil {
			return 0, err
		}
		return time.Since(began).Seconds(), s.Close()
	}
	created, err := open()
	if err != nil {
		return nil, err
	}
	opened, err := open()
	return map[string]float64{"locations": float64(len(d.all)), "group_s": grouped, "create_s": created, "open_s": opened}, err
}

// orphan fills a scratch, removes its stacks and reads an image as a program
// does that starts then.
func orphan(ctx context.Context, data, name string) (any, error) {
	d, err := open(ctx, data, name)
	if err != nil {
		return nil, err
	}
	g, err := d.group()
	if err != nil {
		return nil, err
	}
	create := func() (*scratch.ImageScratch, error) {
		return scratch.CreateMappedFileImageScratch(ctx, g, d.out, filepath.Base(name), 10, scratch.Everything, d.files, options)
	}
	s, err := create()
	if err != nil {
		return nil, err
	}
	if err := scratch.PrefetchScratch(ctx, s, g, scratch.NewExecutor(2), nil).Wait(ctx); err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	for i := range g.Len() {
		if err := d.fs.Remove(ctx, g.Group(i).Key); err != nil {
			return nil, err
		}
	}
	began := time.Now()
	if s, err = create(); err != nil {
		return nil, err
	}
	defer s.Close()
	dst := make([]byte, d.size)
	err = s.ReadImages(ctx, d.all[0].Key, dst, d.all[0].Index)
	return map[string]float64{"first_s": time.Since(began).Seconds()}, err
}
