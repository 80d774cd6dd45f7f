package main

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/gridhold/gridhold/host/plugin"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// source is what the user named: a store, a node in it, and the engine that
// reads them; or a container; or images.
type source struct {
	store  storage.Store
	closer io.Closer // of what the store stands on
	path   string    // of the node; "": the root
	engine engine

	opened opened  // a container; nil: a store of Zarr, or images
	images *images // nil: none
	damage error   // that the container could not be opened for

	plugins plugin.Set
	codecs  zarr.CodecSource // of the plugins; nil: none
}

// open opens what a URL names, the plugins of the flags, and the engine that
// they ask for.
func open(ctx context.Context, g *globals, name string) (s *source, err error) {
	if g.plugins, err = g.plugin.open(ctx); err != nil {
		return nil, err
	}
	if s, err = find(ctx, g, name); err != nil {
		return nil, errors.Join(err, g.plugins.Close())
	}
	s.plugins, s.codecs = g.plugins, g.codecs()
	return s, nil
}

func find(ctx context.Context, g *globals, name string) (*source, error) {
	if s, err := openByReader(ctx, g, name); s != nil || err != nil {
		return s, err
	}
	o, err := openContainer(ctx, g, name)
	if err != nil {
		return nil, err
	}
	if o != nil {
		return &source{closer: o, engine: machine{}, opened: o}, nil
	}
	m, err := openImages(ctx, g, name)
	if err != nil {
		return nil, err
	}
	if m != nil {
		return &source{closer: m, engine: machine{}, images: m}, nil
	}
	if g.key != "" {
		return nil, usagef("--key goes with Blosc2 stores")
	}
	e, err := newEngine(ctx, g)
	if err != nil {
		return nil, err
	}
	st, closer, err := openURL(ctx, name, g.trace())
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return &source{store: st, closer: closer, path: strings.Trim(g.path, "/"), engine: e}, nil
}

// Close releases the engine, then the store it reads from, then the plugins.
func (s *source) Close() error {
	err := s.engine.Close()
	if s.closer != nil {
		err = errors.Join(err, s.closer.Close())
	}
	return errors.Join(err, s.plugins.Close())
}
