package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/rawjson"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// container is an open Blosc2 container: what the URL names, or what lies
// under a key of it.
type container struct {
	blosc2.Container
	under []io.Closer // what it stands on, the last one first to close
}

// Close closes the container, then what it stands on.
func (c *container) Close() error {
	err := c.Container.Close()
	for _, u := range slices.Backward(c.under) {
		err = errors.Join(err, u.Close())
	}
	return err
}

var containerExtensions = []string{".b2nd", ".b2frame", ".b2f", ".b2b", ".b2e", ".b2z", ".b2d"}

// openContainer opens the container that a URL names, and what lies under the
// key in it, if there is one. It returns nil for what is none.
func openContainer(ctx context.Context, g *globals, name string) (*container, error) {
	scheme, rest, remote := strings.Cut(name, "://")
	if strings.EqualFold(scheme, "file") && remote {
		name, remote = filepath.FromSlash(rest[strings.IndexByte(rest+"/", '/'):]), false
	}
	var c *container
	var err error
	if remote {
		c, err = remoteContainer(ctx, g, name)
	} else {
		c, err = localContainer(ctx, name)
	}
	if c == nil || err != nil {
		return nil, err
	}
	if g.engine != "native" {
		return nil, errors.Join(fault.New(fault.ErrUnsupported, "engine", g.engine, "it does not open Blosc2 containers yet"), c.Close())
	}
	key := g.key
	if key == "" {
		key = g.path
	}
	if key == "" {
		return c, nil
	}
	leaf, err := c.leaf(ctx, "/"+strings.Trim(key, "/"))
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return &container{leaf, append(c.under, c.Container)}, nil
}

// localContainer looks at the name, and at the first bytes.
func localContainer(ctx context.Context, name string) (*container, error) {
	info, err := os.Stat(name)
	if err != nil || !info.IsDir() && !info.Mode().IsRegular() || !isContainer(name, info.IsDir()) {
		return nil, nil // whatever is wrong, the opening of a store says it
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	dir, base := filepath.Split(abs)
	fs, err := file.OpenFS(dir)
	if err != nil {
		return nil, err
	}
	b, err := blosc2.Open(ctx, fs, base, blosc2.Options{})
	if err != nil {
		return nil, errors.Join(err, fs.Close())
	}
	return &container{b, []io.Closer{fs}}, nil
}

func isContainer(name string, dir bool) bool {
	if dir {
		for _, member := range []string{"chunks.b2frame", "embed.b2e"} {
			if _, err := os.Stat(filepath.Join(name, member)); err == nil {
				return true
			}
		}
		return false
	}
	if slices.Contains(containerExtensions, filepath.Ext(name)) {
		return true
	}
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	var b [10]byte
	n, _ := io.ReadFull(f, b[:])
	return strings.HasPrefix(string(b[:n]), "\x9e\xa8b2frame\x00") || strings.HasPrefix(string(b[:n]), "PK\x03\x04")
}

// remoteContainer looks at the name only: a server is asked nothing that a
// store would not ask.
func remoteContainer(ctx context.Context, g *globals, name string) (*container, error) {
	parent, base, err := apart(name)
	if err != nil || !slices.Contains(containerExtensions, path.Ext(base)) {
		return nil, nil
	}
	st, closer, err := openURL(ctx, parent, g.trace())
	if err != nil {
		return nil, err
	}
	b, err := blosc2.OpenObject(ctx, st, base, blosc2.Options{})
	if err != nil {
		return nil, errors.Join(err, closer.Close())
	}
	return &container{b, []io.Closer{closer}}, nil
}

// leaf opens what lies under a key.
func (c *container) leaf(ctx context.Context, key string) (blosc2.Container, error) {
	switch c := c.Container.(type) {
	case *blosc2.EmbedStore:
		return c.Get(ctx, key)
	case *blosc2.DictStore:
		return c.Get(ctx, key)
	case *blosc2.TreeStore:
		return c.Get(ctx, key)
	}
	return nil, fault.New(fault.ErrInvalid, "key", key, "a "+c.Kind()+" has no keys")
}

// describe returns the description as JSON.
func (c *container) describe(ctx context.Context) ([]byte, error) {
	d, err := c.Describe(ctx)
	if err != nil {
		return nil, err
	}
	return rawjson.Marshal(d), nil
}

// list returns what is under the keys. What cannot be opened is listed with
// its error.
func (c *container) list(ctx context.Context) ([]zarr.Entry, error) {
	var keys []string
	var err error
	switch c := c.Container.(type) {
	case *blosc2.EmbedStore:
		keys, err = c.Keys(ctx)
	case *blosc2.DictStore:
		keys, err = c.Keys(ctx)
	case *blosc2.TreeStore:
		keys, err = c.Keys(ctx)
	default:
		err = fault.New(fault.ErrInvalid, "keys", "", "a "+c.Kind()+" has none")
	}
	var entries []zarr.Entry
	for _, key := range keys {
		leaf, leafErr := c.leaf(ctx, key)
		_, tree := c.Container.(*blosc2.TreeStore)
		e := zarr.Entry{Path: key, Kind: "group"}
		switch {
		case leafErr == nil:
			e.Kind = leaf.Kind()
			if a, ok := leaf.(*blosc2.NDArray); ok {
				e.Shape, e.DataType = a.Shape().Shape, a.DType().String()
			}
			leafErr = leaf.Close()
		case tree && errors.Is(leafErr, fault.ErrNotFound): // an inner node
			leafErr = nil
		default:
			e.Kind = "unknown"
		}
		if leafErr != nil {
			e.Error = leafErr.Error()
		}
		entries = append(entries, e)
	}
	return entries, err
}

func (c *container) verify(ctx context.Context) (checked int64, damaged []zarr.Damage, err error) {
	checked, err = blosc2.Verify(ctx, c.Container, func(d blosc2.Damage) { damaged = append(damaged, zarr.Damage(d)) })
	return checked, damaged, err
}

// damageOf says what kept a container from being opened.
func damageOf(err error) zarr.Damage {
	d := zarr.Damage{Off: -1, Text: err.Error()}
	for e := new(fault.Error); errors.As(err, &e); err = e.Err {
		if d.Item == "" {
			d.Item = e.Item
		}
		if d.Off < 0 {
			d.Off = e.Off
		}
	}
	return d
}
