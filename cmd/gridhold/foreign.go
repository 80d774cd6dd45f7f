package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// nodeFiles looks for what is no part of the arrays and groups of a store, and
// would be lost with them.
type nodeFiles struct {
	store storage.Store
	// list is Lister's, but for what a store does not show: of a directory it
	// names that too.
	list func(ctx context.Context, prefix string) ([]string, error)
}

// check refuses with ErrExists to replace what is at the root of the store: what is
// no node that can be opened, and one among whose keys are others.
func (n nodeFiles) check(ctx context.Context) error {
	root, err := zarr.Open(ctx, n.store, "", zarr.Options{})
	if errors.Is(err, fault.ErrNotFound) {
		return leftAlone("", "is neither an array nor a group")
	}
	if err != nil {
		return leftAlone("", "what else belongs to it cannot be told: "+err.Error())
	}
	array, _ := root.(*zarr.Array)
	return n.below(ctx, "", array, nodeLevels)
}

// nodeLevels bounds how deep directories are followed.
const nodeLevels = 256

// below checks the keys that begin with prefix. array is the one that they
// belong to, nil within a group.
func (n nodeFiles) below(ctx context.Context, prefix string, array *zarr.Array, levels int) error {
	if levels == 0 {
		return leftAlone(prefix, "is nested too deep")
	}
	names, err := n.list(ctx, prefix)
	if err != nil {
		return err
	}
	for _, name := range names {
		key := prefix + name
		dir, isDir := strings.CutSuffix(key, "/")
		switch {
		case strings.HasPrefix(name, file.Temporary): // of a writer of ours
		case isDir:
			within := array
			if array == nil {
				if within, err = n.array(ctx, dir); err != nil {
					return err
				}
			}
			if err := n.below(ctx, key, within, levels-1); err != nil {
				return err
			}
		case isMetadata(name) && (array == nil || prefix == prefixOf(array)):
		case array == nil || !isChunk(array, key):
			return leftAlone(key, "is no part of an array or group")
		}
	}
	return nil
}

// array opens the array at a path; nil for a group, and for a directory that only
// leads to nodes.
func (n nodeFiles) array(ctx context.Context, path string) (*zarr.Array, error) {
	node, err := zarr.Open(ctx, n.store, path, zarr.Options{})
	switch fault.CodeOf(err) {
	case fault.CodeNotFound, fault.CodeInvalid: // the second: not the path of a node
		return nil, nil
	case fault.CodeIO, fault.CodeCancelled:
		return nil, err
	}
	if err != nil {
		return nil, leftAlone(path, "what belongs to it cannot be told: "+err.Error())
	}
	array, _ := node.(*zarr.Array)
	return array, nil
}

func prefixOf(a *zarr.Array) string {
	if a.Path() == "" {
		return ""
	}
	return a.Path() + "/"
}

// isChunk reports whether a key is that of a chunk, also of one outside the
// grid, which the array may have had before it was cut.
func isChunk(a *zarr.Array, key string) bool {
	var idx []int64
	for part := range strings.FieldsFuncSeq(key[len(prefixOf(a)):], func(r rune) bool { return r == '/' || r == '.' || r == 'c' }) {
		x, err := strconv.ParseInt(part, 10, 64)
		if err != nil {
			return false
		}
		idx = append(idx, x)
	}
	if len(a.Shape()) == 0 {
		idx = nil
	}
	return len(idx) == len(a.Shape()) && a.ChunkKey(idx) == key
}

func leftAlone(key, why string) error {
	return fault.New(fault.ErrExists, "copy", key, why+", and is left alone")
}

// listDirectory is Lister's of all there is in a directory. Links are named as
// files, whatever they lead to: with the directory only the link would be lost.
func listDirectory(dir string) func(ctx context.Context, prefix string) ([]string, error) {
	return func(ctx context.Context, prefix string) ([]string, error) {
		if err := storage.Ended(ctx, prefix); err != nil {
			return nil, err
		}
		entries, err := os.ReadDir(filepath.Join(dir, filepath.FromSlash(prefix)))
		if err != nil {
			return nil, err
		}
		names := make([]string, len(entries))
		for i, e := range entries {
			names[i] = e.Name()
			if e.IsDir() {
				names[i] += "/"
			}
		}
		return names, nil
	}
}
