package main

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/gridhold/gridhold/host"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// sandbox is the core as a guest under wazero.
type sandbox struct {
	*host.Sandbox
	g    *globals
	pack *host.IndexPack // of the flag --index; nil: none
}

// newSandbox starts the guest.
func newSandbox(ctx context.Context, g *globals) (engine, error) {
	s := sandbox{g: g}
	if g.index != "" {
		b, err := readFile(ctx, g.index)
		if err != nil {
			return nil, failed(g.index, err)
		}
		m := storage.NewMemory()
		m.Set("pack", b)
		s.pack = &host.IndexPack{Store: m, Key: "pack"}
	}
	var err error
	if s.Sandbox, err = newHost(ctx, g.compileCache); err != nil {
		return nil, err
	}
	return s, nil
}

// newHost starts a guest. compileCache is the flag --compile-cache.
func newHost(ctx context.Context, compileCache string) (*host.Sandbox, error) {
	switch compileCache {
	case "auto":
		compileCache = host.UserCompileCache()
	case "none":
		compileCache = ""
	}
	// Who waits for the command says how long: by an interrupt.
	none := host.Limits{Deadline: host.Unlimited, Read: host.Unlimited, Output: host.Unlimited, Objects: host.Unlimited}
	return host.New(ctx, host.Config{CompileCache: compileCache, Limits: none})
}

func (s sandbox) describe(ctx context.Context, st storage.Store, path string) (json.RawMessage, error) {
	n, err := s.Open(ctx, st, path, host.OpenOptions{})
	if err != nil {
		return nil, err
	}
	return n.Describe(), n.Close()
}

func (s sandbox) list(ctx context.Context, st storage.Store, path string) ([]zarr.Entry, error) {
	return s.List(ctx, st, path)
}

func (s sandbox) verify(ctx context.Context, st storage.Store, path string) (checked int64, damaged []zarr.Damage, err error) {
	checked, err = s.Verify(ctx, st, path, func(d zarr.Damage) { damaged = append(damaged, d) })
	return checked, damaged, err
}

func (s sandbox) openArray(ctx context.Context, st storage.Store, path string) (array, error) {
	a, err := s.OpenArray(ctx, st, path, host.OpenOptions{IndexPack: s.pack, Trace: s.g.explain})
	if e := (*fault.Error)(nil); errors.As(err, &e) && e.Format == "index pack" {
		return nil, failed(s.g.index, err)
	}
	if err != nil {
		return nil, err
	}
	b := &sandboxArray{Array: a, g: s.g, cache: a.ShardCache(host.CacheOptions{})}
	return b, json.Unmarshal(a.Describe(), &b.is)
}

// sandboxArray is an array that the guest has open.
type sandboxArray struct {
	*host.Array
	g     *globals
	is    description
	cache *host.ShardCache
	buf   []byte // of the last region
}

// Close adds up what the guest saw of the cost.
func (s *sandboxArray) Close() error {
	if !s.g.explain {
		return s.Array.Close()
	}
	cost, err := s.Cost(context.Background())
	s.g.inside = s.g.inside.Plus(cost)
	return errors.Join(err, s.Array.Close())
}

func (s *sandboxArray) shape() *description { return &s.is }

func (s *sandboxArray) subchunk(ctx context.Context, index []int64) ([]byte, error) {
	return s.RetrieveSubchunk(ctx, index, host.ReadOptions{Cache: s.cache})
}

func (s *sandboxArray) encodedSubchunk(ctx context.Context, index []int64) ([]byte, error) {
	return s.RetrieveEncodedSubchunk(ctx, index, host.ReadOptions{Cache: s.cache})
}

func (s *sandboxArray) copyOfRegion(ctx context.Context, start, stop []int64) ([]byte, error) {
	return s.RetrieveRegion(ctx, start, stop, host.ReadOptions{Cache: s.cache})
}

func (s *sandboxArray) region(ctx context.Context, start, stop []int64) (_ []byte, err error) {
	s.buf, err = s.RetrieveRegion(ctx, start, stop, host.ReadOptions{Cache: s.cache, Dst: s.buf})
	return s.buf, err
}
