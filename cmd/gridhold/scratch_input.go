package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"

	"github.com/gridhold/gridhold/host"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/rawjson"
	"github.com/gridhold/gridhold/sdk/scratch"
	"github.com/gridhold/gridhold/sdk/storage"
)

// scratchTarget is where a scratch is or will be.
type scratchTarget struct {
	fs        *machineFS
	key       string // its name there
	directory bool
	box       *host.Sandbox // that looks at what is there; nil: natively
}

// Close closes what the scratch stands on.
func (t *scratchTarget) Close() error {
	if t.box != nil {
		return errors.Join(t.box.Close(), t.fs.Close())
	}
	return t.fs.Close()
}

func scratchAt(g *globals, name string) (*scratchTarget, error) {
	local, err := localPath(name)
	if err != nil {
		return nil, failed(name, err)
	}
	fs, key, err := openMachine(local)
	if err != nil {
		return nil, failed(name, err)
	}
	info, err := os.Stat(local)
	directory := err == nil && info.IsDir() || strings.HasSuffix(name, "/")
	return &scratchTarget{fs: fs, key: fs.resolve(key), directory: directory}, nil
}

// existing is scratchAt for who looks at what is there, by the engine.
func existing(ctx context.Context, g *globals, name string) (*scratchTarget, error) {
	t, err := scratchAt(g, name)
	if err != nil {
		return nil, err
	}
	switch g.engine {
	case "native":
	case "wasm":
		t.box, err = newHost(ctx, g.compileCache)
	default:
		err = unknownEngine(g.engine)
	}
	if err != nil {
		return nil, errors.Join(failed(name, err), t.Close())
	}
	return t, nil
}

// statuses looks at the scratch, or at all of the directory.
func (t *scratchTarget) statuses(ctx context.Context) ([]scratch.Status, error) {
	switch {
	case t.directory && t.box != nil:
		return t.box.ListScratches(ctx, t.fs, t.key)
	case t.directory:
		return scratch.List(ctx, t.fs, t.key)
	}
	inspect := scratch.Inspect
	if t.box != nil {
		inspect = t.box.InspectScratch
	}
	s, err := inspect(ctx, t.fs, t.key)
	if errors.Is(err, fault.ErrNotFound) {
		return nil, fault.New(fault.ErrNotFound, "scratch", "", "")
	}
	return []scratch.Status{s}, err
}

// scratchInput is the images that a scratch is to hold, and what opens them:
// tables, stacks, or several of both.
type scratchInput struct {
	locations *image.ImageLocationGrouping
	from      map[string]*images // by key: what named it first
	spellings spellings
	all       []*images
	providers map[*images]image.ReaderProvider
}

func imagesFor(ctx context.Context, g *globals, names []string) (in *scratchInput, err error) {
	in = &scratchInput{from: map[string]*images{}, providers: map[*images]image.ReaderProvider{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, in.Close())
		}
	}()
	var box *host.Sandbox // one for all
	for _, name := range names {
		m, err := openImagesIn(ctx, g, box, name)
		if err == nil && m == nil {
			if _, err = os.Stat(name); err == nil {
				err = fault.New(fault.ErrUnsupported, "images", "", "neither a stack nor a table")
			}
		}
		if err != nil {
			return in, failed(name, err)
		}
		box = m.box
		in.all = append(in.all, m)
		in.providers[m] = m.provider(false)
	}
	var failure error
	in.locations, err = image.GroupLocations(func(yield func(image.ImageLocation) bool) {
		for _, m := range in.all {
			if failure = failed(m.name, in.add(ctx, m, yield)); failure != nil {
				return
			}
		}
	})
	return in, errors.Join(failure, err)
}

// add yields the images that m names.
func (in *scratchInput) add(ctx context.Context, m *images, yield func(image.ImageLocation) bool) error {
	if !m.table {
		is := in.spellings.of(ctx, m, m.key)
		if in.from[is.key] == nil {
			in.from[is.key] = m
		}
		yield(image.ImageLocation{Key: is.key, Index: image.WholeFile})
		return nil
	}
	return m.eachLocation(ctx, func(l image.ImageLocation) error {
		is := in.spellings.of(ctx, m, l.Key)
		l.Key = is.key
		first := in.from[l.Key]
		if first == nil {
			in.from[l.Key] = m
		} else if first != m && !is.other && first.table && !strings.HasPrefix(l.Key, "/") && !m.sameRoots(first) {
			return usagef("%s names %s, and so does %s, which lies elsewhere: say with --root what both mean", m.name, l.Key, first.name)
		}
		yield(l)
		return nil
	})
}

// sameRoots reports whether two tables mean the same files by the same names.
func (m *images) sameRoots(n *images) bool {
	return m.key[:strings.LastIndexByte(m.key, '/')+1] == n.key[:strings.LastIndexByte(n.key, '/')+1]
}

// Open is image.ReaderProvider's.
func (in *scratchInput) Open(ctx context.Context, key string) (image.Reader, error) {
	m := in.from[key]
	if m == nil {
		return nil, fault.New(fault.ErrNotFound, "image", key, "")
	}
	return in.providers[m].Open(ctx, key)
}

// Stat is image.Stater's.
func (in *scratchInput) Stat(ctx context.Context, key string) (storage.FileInfo, error) {
	if m := in.from[key]; m != nil {
		if s, ok := in.providers[m].(image.Stater); ok {
			return s.Stat(ctx, key)
		}
	}
	return storage.FileInfo{}, fault.New(fault.ErrUnsupported, "image", key, "its provider cannot look at it")
}

// Close closes what the images lie in.
func (in *scratchInput) Close() (err error) {
	for _, m := range in.all {
		err = errors.Join(err, m.Close())
	}
	return err
}

func asJSON(v rawjson.Value) json.RawMessage { return rawjson.Marshal(v) }
