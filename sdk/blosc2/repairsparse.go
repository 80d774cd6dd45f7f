//go:build !gridhold_guest

package blosc2

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// sparse repairs a frame in a directory: its file of the index, and what files of
// chunks there are that the index does not name.
func (m *Mended) sparse(ctx context.Context, where place, f storage.File, spec RepairSpec, o Options) (err error) {
	var next []byte
	if m.Repaired, next, err = search(ctx, &where, f, o); err != nil {
		return err
	}
	var v *view
	if !m.Written {
		if v, err = load(ctx, &where, f, o.Limits); err == nil {
			err = m.lost(ctx, v)
		}
		if err != nil {
			return err
		}
	}
	var unnamed []string
	if spec.Drop && v != nil && m.Lost == nil {
		if unnamed, err = m.unnamed(ctx, v); err != nil {
			return err
		}
	}
	if spec.DryRun || !m.Written && unnamed == nil {
		return nil
	}
	if spec.Keep != "" {
		if err := keepFrame(ctx, where.fs, f, spec.Keep); err != nil {
			return err
		}
	}
	if m.Written {
		h, err := ParseHeader(next)
		if err != nil {
			return err
		}
		err = beside(ctx, where, f, h.FrameLen, spec, func(s *sibling) error { return rewriteHeader(s.File, next, SyncNever) })
		if err != nil {
			return err
		}
	}
	for _, file := range unnamed {
		if spec.Keep != "" {
			err = where.fs.Rename(ctx, join(where.name, file), join(spec.Keep, file))
		} else {
			err = where.fs.Remove(ctx, join(where.name, file))
		}
		if err != nil {
			return err
		}
	}
	if spec.Keep != "" {
		err = where.fs.SyncDir(ctx, spec.Keep)
	}
	return first(err, where.fs.SyncDir(ctx, where.name))
}

// keepFrame makes a directory with the index of a sparse frame as it was.
func keepFrame(ctx context.Context, fs storage.FS, f storage.File, dir string) error {
	if err := fs.Mkdir(ctx, dir); err != nil {
		return err
	}
	if err := preserve(ctx, fs, f, join(dir, chunksFile)); err != nil {
		return err
	}
	return fs.SyncDir(ctx, dirOf(dir))
}

// unnamed returns the files of chunks that the index does not name, and counts
// their bytes. That of the highest number is none: it says which number is next,
// see draft.number.
func (m *Mended) unnamed(ctx context.Context, v *view) ([]string, error) {
	named := map[string]bool{}
	for i := range v.chunks {
		e, err := v.index.at(i)
		if err != nil {
			return nil, err
		}
		if e.Special == blosc.NotSpecial {
			named[chunkName(e.At)] = true
		}
	}
	files, err := v.where.fs.List(ctx, v.where.name)
	if err != nil {
		return nil, err
	}
	highest := int64(-1)
	for _, file := range files {
		if n, ok := chunkNumber(file); ok {
			highest = max(highest, n)
		}
	}
	var unnamed []string
	for _, file := range files {
		if n, ok := chunkNumber(file); !ok || n == highest || named[file] {
			continue
		}
		info, err := v.where.fs.Stat(ctx, join(v.where.name, file))
		if errors.Is(err, fault.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		m.Dropped += info.Size
		unnamed = append(unnamed, file)
	}
	return unnamed, nil
}

// chunkNumber is that of a chunk's file; false: another file's name.
func chunkNumber(file string) (int64, bool) {
	digits, ok := strings.CutSuffix(file, chunkSuffix)
	n, err := strconv.ParseInt(digits, 16, 64)
	return n, ok && err == nil && n >= 0 && chunkName(n) == file
}
