// Command update is the worker of ours in bench/update.py: it has a Blosc2
// frame open for writing and replaces chunks of it. It reads a line of JSON and
// answers with one.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/blosc2"
)

func main() {
	if err := serve(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "update:", err)
		os.Exit(1)
	}
}

func serve(ctx context.Context) error {
	var s *blosc2.SChunk
	answers := json.NewEncoder(os.Stdout)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var job struct {
			Op, Path, Data string
			Chunk          int64
		}
		if err := json.Unmarshal(lines.Bytes(), &job); err != nil {
			return err
		}
		var took time.Duration
		if job.Op == "open" {
			var err error
			if s, err = open(ctx, job.Path); err != nil {
				return err
			}
			defer s.Close()
		} else {
			chunk, err := os.ReadFile(job.Data)
			if err != nil {
				return err
			}
			began := time.Now()
			if err := s.UpdateChunk(ctx, job.Chunk, chunk); err != nil {
				return err
			}
			took = time.Since(began)
		}
		if err := answers.Encode(map[string]float64{"seconds": took.Seconds()}); err != nil {
			return err
		}
	}
	return nil
}

func open(ctx context.Context, path string) (*blosc2.SChunk, error) {
	fs, err := file.OpenFS(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	c, err := blosc2.Open(ctx, fs, filepath.Base(path), blosc2.Options{Write: true, Workers: runtime.GOMAXPROCS(0)})
	if err != nil {
		return nil, err
	}
	s, ok := c.(*blosc2.SChunk)
	if !ok {
		return nil, errors.New("no sequence of chunks")
	}
	return s, nil
}
