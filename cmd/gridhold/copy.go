package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// copyFlags say how the copy is to be cut and encoded.
type copyFlags struct {
	chunks, blocks, shards, codec, order, as string
	indexAtStart, overwrite, checksums       bool
}

func newCopy(g *globals) *cobra.Command {
	var f copyFlags
	c := &cobra.Command{
		Use:   "copy SRC DST",
		Short: "Copy an array or a group, cut and encoded otherwise if you like",
		Long: `Copy an array, or a group or store with all that is below it, to what the name
of DST says: one frame of Blosc2 (.b2nd, .b2frame, .b2f), a store of frames
(.b2z; .b2d, a directory), or else Zarr v3 in a directory or below a key of S3. Without flags the
copy is cut as the source is; Zarr is compressed with zstd, Blosc2 as it was.
Attributes become metalayers of variable length, and the reverse.

DST appears when it is whole. It must not be there yet, or be an empty
directory; --overwrite replaces what is of the same kind, and nothing else. In
S3, where nothing can be renamed, the metadata come last, and what is
overwritten goes first.`,
		Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) (err error) {
			s, err := open(c.Context(), g, args[0])
			if err != nil {
				return failed(args[0], err)
			}
			defer func() { err = errors.Join(err, failed(args[0], s.Close())) }()
			if err := checkTarget(args[1]); err != nil {
				return failed(args[1], err)
			}
			p := newProgress(c.ErrOrStderr())
			switch {
			case isFrame(args[1]):
				return copyToFrame(c.Context(), s, args[1], f, p)
			case isStore(args[1]):
				return copyToStore(c.Context(), s, args[1], f, p)
			case s.opened != nil:
				target, finish, err := destination(c.Context(), args[1], f.overwrite)
				if err != nil {
					return failed(args[1], err)
				}
				return finish(copyContainer(c.Context(), s.opened, target, f, p))
			case f.blocks != "":
				return usagef("--blocks goes with copies to Blosc2")
			}
			// Before there is a target, which may be within the source.
			nodes, err := f.nodes(c.Context(), s)
			if err != nil {
				return failed(args[0], err)
			}
			target, finish, err := destination(c.Context(), args[1], f.overwrite)
			if err != nil {
				return failed(args[1], err)
			}
			return finish(copyNodes(c.Context(), s, nodes, target, f, p))
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.chunks, "chunks", "", "shape `a,b` of a chunk; of a subchunk, if the copy is sharded")
	fl.StringVar(&f.blocks, "blocks", "", "shape `a,b` of a block within a chunk, of Blosc2")
	fl.StringVar(&f.as, "as", "data", "`key` in a new store of what has none in SRC")
	fl.StringVar(&f.shards, "shards", "", "shape `a,b` of a shard; none: the copy is not sharded")
	fl.StringVar(&f.codec, "codec", "", "Zarr: `zstd[:level]|gzip[:level]|none`, or a JSON list of codecs as metadata has it; Blosc2: blosclz, lz4, lz4hc, zlib, zstd (:level), none")
	fl.StringVar(&f.order, "order", "c", "`c|morton`: order of subchunks within a shard")
	fl.BoolVar(&f.indexAtStart, "index-at-start", false, "put the index of a shard in front")
	fl.BoolVar(&f.checksums, "checksums", false, "keep a CRC-32C of each chunk in frames, which verify compares")
	fl.BoolVar(&f.overwrite, "overwrite", false, "replace the array or group that DST is")
	return c
}

// options are those of the source and of the copy.
func (f copyFlags) options() (zarr.Options, error) {
	switch f.order {
	case "c":
		return zarr.Options{}, nil
	case "morton":
		return zarr.Options{SubchunkOrder: zarr.MortonOrder}, nil
	}
	return zarr.Options{}, usagef("--order %s: want c or morton", f.order)
}

// nodes are the paths of the node that the source names and of those below it.
func (f copyFlags) nodes(ctx context.Context, s *source) ([]string, error) {
	o, err := f.options()
	if err != nil {
		return nil, err
	}
	o.Codecs = s.codecs
	n, err := zarr.Open(ctx, s.store, s.path, o)
	if err != nil {
		return nil, failed(s.path, err)
	}
	paths := []string{s.path}
	if n.Kind() == "group" {
		below, err := nodesBelow(ctx, s.store, n.(*zarr.Group), o)
		if err != nil {
			return nil, err
		}
		paths = append(paths, below...)
	}
	return paths, nil
}

// nodesBelow are the paths of the nodes below a group: those that the store
// lists; where it cannot, those of consolidated metadata, or else the levels of
// the group's pyramids.
func nodesBelow(ctx context.Context, st storage.Store, g *zarr.Group, o zarr.Options) ([]string, error) {
	below, err := zarr.List(ctx, st, g.Path(), o)
	if errors.Is(err, fault.ErrUnsupported) {
		o.Consolidated = true
		below, err = zarr.List(ctx, st, g.Path(), o)
	}
	var paths []string
	if errors.Is(err, fault.ErrUnsupported) {
		scales, parseErr := g.Multiscales()
		for _, m := range scales {
			for _, l := range m.Levels {
				paths = append(paths, strings.Trim(g.Path()+"/"+l.Path, "/"))
			}
		}
		if parseErr == nil && paths != nil {
			slices.Sort(paths)
			return slices.Compact(paths), nil
		}
	}
	for _, e := range below {
		paths = append(paths, e.Path)
	}
	return paths, err
}

// copyNodes copies the nodes at some paths.
func copyNodes(ctx context.Context, s *source, paths []string, to storage.Store, f copyFlags, p *progress) error {
	o, err := f.options()
	if err != nil {
		return err
	}
	o.Codecs = s.codecs
	for _, from := range paths {
		path := strings.TrimPrefix(strings.TrimPrefix(from, s.path), "/")
		n, err := zarr.Open(ctx, s.store, from, o)
		if err == nil {
			switch n := n.(type) {
			case *zarr.Array:
				err = copyArray(ctx, s, n, to, path, f, o, p)
			case *zarr.Group:
				_, err = zarr.CreateGroup(ctx, to, path, n.Attributes(), o)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// copyArray copies one array. Its elements are read by the engine.
func copyArray(ctx context.Context, s *source, src *zarr.Array, to storage.Store, path string, f copyFlags, o zarr.Options, p *progress) error {
	spec, err := f.spec(src)
	if err != nil {
		return err
	}
	from, err := s.engine.openArray(ctx, s.store, src.Path())
	if err != nil {
		return err
	}
	defer from.Close()
	dst, err := zarr.CreateArray(ctx, to, path, spec, o)
	if err != nil {
		return err
	}
	p.begin("/" + path)
	defer p.end()
	return dst.Fill(ctx, from.copyOfRegion, p.step)
}

// spec is what the copy of an array is to be.
func (f copyFlags) spec(src *zarr.Array) (zarr.ArraySpec, error) {
	spec, err := src.Like()
	if f.chunks == "" && err != nil {
		return spec, err
	}
	if err != nil { // chunks of many shapes
		spec = zarr.ArraySpec{Shape: src.Shape(), FillValue: src.FillText(), DataType: src.TypeText(), Attributes: src.Attributes(), DimensionNames: src.DimensionNames()}
	}
	if err := f.cut(&spec); err != nil {
		return spec, err
	}
	spec.Codecs, err = parseCodec(f.codec, src.Serializer())
	return spec, err
}

// cut changes chunks and shards as the flags say.
func (f copyFlags) cut(spec *zarr.ArraySpec) error {
	axes := len(spec.Shape)
	if f.shards == "none" && spec.SubchunkShape != nil {
		spec.ChunkShape, spec.SubchunkShape = spec.SubchunkShape, nil
	}
	if f.chunks != "" {
		chunk, err := parseShape("--chunks", f.chunks, axes)
		if err != nil {
			return err
		}
		if spec.SubchunkShape != nil || f.shards != "" && f.shards != "none" {
			spec.SubchunkShape = chunk
		} else {
			spec.ChunkShape = chunk
		}
	}
	if f.shards != "" && f.shards != "none" {
		shard, err := parseShape("--shards", f.shards, axes)
		if err != nil {
			return err
		}
		if spec.SubchunkShape == nil {
			spec.SubchunkShape = spec.ChunkShape
		}
		spec.ChunkShape = shard
	}
	spec.IndexAtStart = spec.IndexAtStart || f.indexAtStart
	return nil
}

func parseShape(flag, text string, axes int) ([]int64, error) {
	at, err := parseIndex(flag, text)
	if err != nil {
		return nil, err
	}
	if len(*at) != axes {
		return nil, usagef("%s %s: the array has %d axes", flag, text, axes)
	}
	return *at, nil
}

// littleEndian is the serializer of elements that NumPy has too.
var littleEndian = zarr.Codec{Name: "bytes", Configuration: json.RawMessage(`{"endian":"little"}`)}

// parseCodec reads --codec, for what first makes bytes of. "" leaves the
// choice to the library.
func parseCodec(text string, first zarr.Codec) ([]zarr.Codec, error) {
	if text == "" {
		return nil, nil
	}
	if strings.HasPrefix(text, "[") {
		var cs []zarr.Codec
		if err := json.Unmarshal([]byte(text), &cs); err != nil {
			return nil, usagef("--codec: %v", err)
		}
		return cs, nil
	}
	name, level, _ := strings.Cut(text, ":")
	serial := []zarr.Codec{first}
	config := map[string]string{"zstd": `{"level":3,"checksum":false}`, "gzip": `{"level":6}`}[name]
	if level != "" {
		if _, err := parseNumber(strings.TrimPrefix(level, "-")); err != nil {
			return nil, usagef("--codec %s: want a number after the colon", text)
		}
		config = map[string]string{"zstd": `{"level":` + level + `,"checksum":false}`, "gzip": `{"level":` + level + `}`}[name]
	}
	switch {
	case name == "none" && level == "":
		return serial, nil
	case config == "":
		return nil, usagef("--codec %s: want zstd, gzip, none or a JSON list", text)
	}
	return append(serial, zarr.Codec{Name: name, Configuration: json.RawMessage(config)}), nil
}

// target is the directory that a copy goes to: another one beside it, until
// the copy is whole.
type target struct {
	name       string // as it was given
	at, beside string
	store      *file.Store
	replace    bool
}

func newTarget(ctx context.Context, name string, overwrite bool) (*target, error) {
	if name == "" {
		return nil, usagef("DST is empty")
	}
	at, err := filepath.Abs(name) // "." has no sibling, and a link would be replaced in place of what it leads to
	if err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(at); err == nil {
		at = real
	}
	t := &target{name: name, at: at, replace: overwrite}
	entries, err := os.ReadDir(at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		t.replace = false
	case err != nil:
		return nil, err
	case len(entries) == 0:
		t.replace = true
	case !overwrite:
		return nil, fault.New(fault.ErrExists, "directory", "", "is not empty")
	default:
		st, err := file.Open(at, file.Options{})
		if err == nil {
			err = errors.Join(nodeFiles{st, listDirectory(at)}.check(ctx), st.Close())
		}
		if err != nil {
			return nil, err
		}
	}
	t.beside = t.hidden()
	if err := os.Mkdir(t.beside, 0o777); err != nil {
		return nil, err
	}
	if t.store, err = file.Open(t.beside, file.Options{}); err != nil {
		os.Remove(t.beside)
		return nil, err
	}
	return t, nil
}

// hidden is a new name beside the target. A store does not list it: who reads
// the group that the target is in meanwhile, or after we were killed, sees no
// half of a copy.
func (t *target) hidden() string {
	return filepath.Join(filepath.Dir(t.at), file.Temporary+filepath.Base(t.at)+"."+rand.Text()[:8])
}

// close gives the copy its name if it went well, and removes it otherwise.
func (t *target) close(err error) error {
	err = errors.Join(err, t.store.Close())
	if err == nil && t.replace {
		old := t.hidden()
		if err = os.Rename(t.at, old); err == nil {
			if err = os.Rename(t.beside, t.at); err != nil {
				os.Rename(old, t.at)
			} else {
				os.RemoveAll(old)
			}
		}
	} else if err == nil {
		err = os.Rename(t.beside, t.at)
	}
	if err != nil {
		os.RemoveAll(t.beside)
		return failed(t.name, err)
	}
	return nil
}
