package blosc2

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/rawjson"
	"github.com/gridhold/gridhold/sdk/storage"
)

// Container is one of *SChunk, *NDArray, *EmbedStore, *DictStore and
// *TreeStore.
type Container interface {
	// Kind is "schunk", "batcharray", "objectarray", "ndarray", "embedstore",
	// "dictstore" or "treestore".
	Kind() string
	// Describe returns what "gridhold info --json" prints of it.
	Describe(ctx context.Context) (rawjson.Value, error)
	Close() error
}

// Open opens the container of that name: a file, a sparse frame's directory,
// a store's directory or zip. What it is, its bytes say, not its name.
// ErrNotFound, ErrCorrupt, ErrLimit, ErrInvalid for a name that leads to no
// container; ErrUnsupported for versions and plugins, and for what names code
// or URLs to be run or fetched (lazy arrays, remote arrays, proxies).
func Open(ctx context.Context, fs storage.FS, name string, o Options) (Container, error) {
	o, err := o.checked()
	if err != nil {
		return nil, err
	}
	info, err := fs.Stat(ctx, name)
	if err != nil {
		return nil, err
	}
	if info.Dir {
		return openDirectory(ctx, fs, name, o)
	}
	f, err := openSource(ctx, fs, name, o)
	if err != nil {
		return nil, err
	}
	zip, err := isZip(f)
	if err == nil && zip {
		var c Container
		if c, err = openZip(ctx, f, name, o); err == nil {
			return c, nil
		}
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	return openLeaf(ctx, place{fs: fs, name: name, size: -1}, o)
}

// OpenFile is Open over a file that is open, or an object of a store (see
// storage.FileOf): a frame or a zip. The file is the caller's to close, after
// the container; name is for errors.
func OpenFile(ctx context.Context, f storage.File, name string, o Options) (Container, error) {
	o, err := o.checked()
	if err != nil {
		return nil, err
	}
	zip, err := isZip(f)
	if err != nil {
		return nil, err
	}
	if zip {
		return openZip(ctx, keep{f}, name, o)
	}
	return openLeaf(ctx, place{file: f, name: name, size: -1}, o)
}

func openDirectory(ctx context.Context, fs storage.FS, name string, o Options) (Container, error) {
	for _, kind := range []struct {
		file string
		open func() (Container, error)
	}{
		{chunksFile, func() (Container, error) {
			return openLeaf(ctx, place{fs: fs, name: name, size: -1, sparse: true}, o)
		}},
		{embedFile, func() (Container, error) { return openStoreDirectory(ctx, fs, name, o) }},
	} {
		_, err := fs.Stat(ctx, join(name, kind.file))
		if err == nil {
			return kind.open()
		}
		if !errors.Is(err, fault.ErrNotFound) {
			return nil, err
		}
	}
	return nil, fault.New(fault.ErrInvalid, "blosc2", name, "a directory without "+chunksFile+" or "+embedFile)
}

// refused are metalayers of frames that hold no data, but say which code to
// run or what to fetch.
var refused = []string{"b2o", "b2remote_store", "remote-store", "proxy-source", "LazyArray"}

// openLeaf opens a frame as what its metalayers make of it.
func openLeaf(ctx context.Context, where place, o Options) (Container, error) {
	f, err := openFrame(ctx, where, o)
	if err != nil {
		return nil, err
	}
	return leafFrom(f)
}

// leafFrom is the container that a frame is, which it closes if that is none.
func leafFrom(f *frame) (Container, error) {
	s := &SChunk{f}
	for _, name := range refused {
		if _, ok := find(f.view.meta, name); ok {
			return nil, errors.Join(fault.New(fault.ErrUnsupported, "blosc2", f.where.name, "it is a reference (metalayer "+name+"), which is not followed"), s.Close())
		}
	}
	for _, name := range []string{embedLayer, dictLayer, treeLayer} {
		if _, ok := find(f.view.meta, name); ok {
			return newEmbedStore(s), nil
		}
	}
	if f.view.shape != nil {
		return &NDArray{s}, nil
	}
	return s, nil
}

// isZip looks at the first bytes. A zip without members has another first
// signature.
func isZip(f source) (bool, error) {
	var b [4]byte
	n, err := f.ReadAt(b[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return strings.HasPrefix(string(b[:n]), "PK\x03\x04") || strings.HasPrefix(string(b[:n]), "PK\x05\x06"), nil
}
