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
func openContainer(ctx context.Context, g *globals, name string) (opened, error) {
	scheme, rest, remote := strings.Cut(name, "://")
	if strings.EqualFold(scheme, "file") && remote {
		name, remote = filepath.FromSlash(rest[strings.IndexByte(rest+"/", '/'):]), false
	}
	find := localContainer
	if remote {
		find = remoteContainer
	}
	c, b, err := find(ctx, g, name)
	switch {
	case err != nil:
		return nil, err
	case b != nil:
		return b, nil
	case c == nil:
		return nil, nil
	}
	if key := g.leaf(); key != "" {
		leaf, err := c.leaf(ctx, key)
		if err != nil {
			n, err := nodeUnder(ctx, c, key, err)
			if err != nil {
				return nil, errors.Join(err, c.Close())
			}
			return n, nil
		}
		c = &container{leaf, append(c.under, c.Container)}
	}
	return c, nil
}

// leaf is the key of the flags --key and --path; "": none.
func (g *globals) leaf() string {
	key := g.key
	if key == "" {
		key = g.path
	}
	if key == "" {
		return ""
	}
	return "/" + strings.Trim(key, "/")
}

// localContainer looks at the name, and at the first bytes.
func localContainer(ctx context.Context, g *globals, name string) (*container, opened, error) {
	info, err := os.Stat(name)
	if err != nil || !info.IsDir() && !info.Mode().IsRegular() || !isContainer(name, info.IsDir()) {
		return nil, nil, nil // whatever is wrong, the opening of a store says it
	}
	dir, base, err := whereIs(name)
	if err != nil {
		return nil, nil, err
	}
	if g.engine == "wasm" {
		b, err := openBoxedFile(ctx, g, dir, base)
		return nil, b, err
	}
	fs, err := file.OpenFS(dir)
	if err != nil {
		return nil, nil, err
	}
	b, err := blosc2.Open(ctx, fs, base, blosc2.Options{Locking: locking(), Plugins: g.plugins.Blosc()})
	if err != nil {
		return nil, nil, errors.Join(err, fs.Close())
	}
	return &container{b, []io.Closer{fs}}, nil, nil
}

// whereIs is the directory that a file is in, and its name there: those of what
// a link leads to if that is in another one, out of which no file system here
// leads.
func whereIs(name string) (dir, base string, err error) {
	at, err := filepath.Abs(name)
	if err != nil {
		return "", "", err
	}
	if real, err := filepath.EvalSymlinks(at); err == nil {
		if dir, err := filepath.EvalSymlinks(filepath.Dir(at)); err == nil && dir != filepath.Dir(real) {
			at = real
		}
	}
	return filepath.Dir(at), filepath.Base(at), nil
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
func remoteContainer(ctx context.Context, g *globals, name string) (*container, opened, error) {
	parent, base, err := apart(name)
	if err != nil || !slices.Contains(containerExtensions, path.Ext(base)) {
		return nil, nil, nil
	}
	st, closer, err := openURL(ctx, parent, g.trace())
	if err != nil {
		return nil, nil, err
	}
	if g.engine == "wasm" {
		b, err := openBoxedObject(ctx, g, st, base, closer)
		return nil, b, err
	}
	b, err := blosc2.OpenObject(ctx, st, base, blosc2.Options{Plugins: g.plugins.Blosc()})
	if err != nil {
		return nil, nil, errors.Join(err, closer.Close())
	}
	return &container{b, []io.Closer{closer}}, nil, nil
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

// at is leaf as tree has it.
func (c *container) at(ctx context.Context, key string) (opened, error) {
	leaf, err := c.leaf(ctx, key)
	if err != nil {
		return nil, err
	}
	return &container{Container: leaf}, nil
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
		err = noKeys(c.Kind())
	}
	var entries []zarr.Entry
	for _, key := range keys {
		e := zarr.Entry{Path: key}
		leaf, leafErr := c.leaf(ctx, key)
		if leafErr == nil {
			e.Kind = leaf.Kind()
			if a, ok := leaf.(*blosc2.NDArray); ok {
				e.Shape, e.DataType = a.Shape().Shape, a.DType().String()
			}
			leafErr = leaf.Close()
		}
		entries = append(entries, listed(e, leafErr, c.Kind()))
	}
	return entries, err
}

func noKeys(kind string) error {
	return fault.New(fault.ErrInvalid, "keys", "", "a "+kind+" has none")
}

// listed fills in what opening a leaf ended with.
func listed(e zarr.Entry, err error, store string) zarr.Entry {
	switch {
	case err == nil:
	case e.Kind == "" && store == "treestore" && errors.Is(err, fault.ErrNotFound):
		e.Kind = "group" // an inner node
	default:
		if e.Kind == "" {
			e.Kind = "unknown"
		}
		e.Error = err.Error()
	}
	return e
}

func (c *container) verify(ctx context.Context) (checked int64, damaged []zarr.Damage, err error) {
	checked, err = blosc2.Verify(ctx, c.Container, func(d blosc2.Damage) { damaged = append(damaged, zarr.Damage(d)) })
	return checked, damaged, err
}

// damageOf says what kept a container from being opened.
func damageOf(err error) zarr.Damage {
	d := zarr.Damage{Off: -1, Text: err.Error(), Unchecked: errors.Is(err, fault.ErrUnsupported)}
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
