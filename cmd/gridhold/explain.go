package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/gridhold/gridhold/sdk/rawjson"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// trace is what reads are told to, nil unless --explain asks for it.
func (g *globals) trace() storage.Trace {
	if !g.explain {
		return nil
	}
	return g.cost.Note
}

// options are those of arrays that machine code opens.
func (g *globals) options(ctx context.Context) (zarr.Options, error) {
	o := zarr.Options{Trace: g.trace(), Codecs: g.codecs()}
	if g.index == "" {
		return o, nil
	}
	b, err := readFile(ctx, g.index)
	if err == nil {
		o.IndexPack, err = zarr.ParseIndexPack(b)
	}
	return o, failed(g.index, err)
}

// largestPack bounds what is read as an index pack.
const largestPack = 4 << 30

// readFile reads the object that a path or a URL names.
func readFile(ctx context.Context, name string) ([]byte, error) {
	parent, key, err := apart(name)
	if err != nil {
		return nil, err
	}
	st, closer, err := openURL(ctx, parent, nil)
	if err != nil {
		return nil, err
	}
	defer closer.Close()
	b, _, err := storage.ReadAll(ctx, st, key, largestPack)
	return b, err
}

// explainTo prints what was read and what it cost.
func (g *globals) explainTo(w io.Writer) error {
	if !g.explain {
		return nil
	}
	c := g.cost.Cost().Plus(g.inside)
	if g.json {
		_, err := fmt.Fprintf(w, "%s\n", rawjson.Marshal(c))
		return err
	}
	for _, line := range []struct {
		what  string
		count int64
		bytes int64
		took  time.Duration
	}{
		{"requests", c.Requests, -1, c.Requesting},
		{"index loads", c.IndexLoads, -1, -1},
		{"reads", c.Reads, c.Bytes, c.Reading},
		{"waits", c.Waits, -1, c.Waiting},
		{"decoded", c.Decodes, c.Elements, c.Decoding},
		{"failures", c.Failures, -1, -1},
	} {
		text := fmt.Sprintf("%s: %d", line.what, line.count)
		if line.bytes >= 0 {
			text += fmt.Sprintf(", %d bytes", line.bytes)
		}
		if line.took >= 0 {
			text += fmt.Sprintf(", %s", line.took.Round(time.Microsecond))
		}
		if _, err := fmt.Fprintln(w, text); err != nil {
			return err
		}
	}
	return nil
}
