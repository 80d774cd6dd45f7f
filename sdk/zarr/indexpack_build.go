package zarr

import (
	"context"
	"encoding/binary"
	"strings"
	"sync"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// Packed is the progress of BuildIndexPack.
type Packed struct {
	Array        string // its path
	Shards, Seen int64  // to look at, and looked at
}

// indexesAtOnce is how many indexes are on their way at a time.
const indexesAtOnce = 32

// BuildIndexPack gathers the indexes of all shards of the array at a path; of
// a group, those of the levels of its pyramids, or of all arrays below it if
// it describes none. It asks for every shard that the store lists, or for
// every place in the grid if the store cannot list: a request each. progress
// (nil: none) is called after each, one call at a time.
//
// Errors are those of List and of ShardIndex; ErrUnsupported if there is no
// array whose subchunks are read by an index, or the store knows no versions:
// nobody could tell whether such a pack still holds.
func BuildIndexPack(ctx context.Context, st storage.Store, path string, o Options, progress func(Packed)) (*IndexPack, error) {
	o.IndexPack = nil
	n, err := Open(ctx, st, path, o)
	if err != nil {
		return nil, err
	}
	arrays, err := packable(ctx, st, n, o)
	if err != nil {
		return nil, err
	}
	p := &IndexPack{}
	for _, a := range arrays {
		if !a.byRange {
			continue
		}
		packed, err := packArray(ctx, a, progress)
		if err != nil {
			return nil, err
		}
		packed.path = strings.TrimPrefix(strings.TrimPrefix(a.path, path), "/")
		p.arrays = append(p.arrays, packed)
	}
	if len(p.arrays) == 0 {
		return nil, fault.New(fault.ErrUnsupported, "zarr", "/"+path, "no array here has shards whose indexes are read by themselves")
	}
	sortArrays(p.arrays)
	p.file = p.encode()
	return p, nil
}

// packable returns the arrays that a pack of a node is of.
func packable(ctx context.Context, st storage.Store, n Node, o Options) ([]*Array, error) {
	if a, ok := n.(*Array); ok {
		return []*Array{a}, nil
	}
	g := n.(*Group)
	scales, err := g.Multiscales()
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, m := range scales {
		for _, l := range m.Levels {
			paths = append(paths, prefixOf(g.path)+l.Path)
		}
	}
	if paths == nil {
		entries, err := List(ctx, st, g.path, o)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if e.Kind == "array" {
				paths = append(paths, e.Path)
			}
		}
	}
	var arrays []*Array
	seen := map[string]bool{}
	for _, path := range paths {
		if seen[path] {
			continue // two pyramids may share a level
		}
		seen[path] = true
		a, err := OpenArray(ctx, st, path, o)
		if err != nil {
			return nil, err
		}
		arrays = append(arrays, a)
	}
	return arrays, nil
}

// mostAsked is how many shards are asked for one by one. What is behind a web
// server may call itself an array of as many as it likes.
const mostAsked = 1 << 24

// packArray loads the indexes of an array.
func packArray(ctx context.Context, a *Array, progress func(Packed)) (*packedArray, error) {
	shards, _ := product(a.grid...)
	number := func(k int64) int64 { return k }
	if l, ok := a.store.(storage.Lister); ok {
		there, err := chunksThere(ctx, a, l)
		if err != nil {
			return nil, err
		}
		shards, number = int64(len(there)), func(k int64) int64 { return there[k] }
	} else if shards > mostAsked {
		return nil, fault.New(fault.ErrLimit, "zarr", "/"+a.path, "has "+itoa(shards)+" shards to be asked for, and the store cannot list those that are there")
	}
	var mu sync.Mutex
	seen := Packed{Array: a.path, Shards: shards}
	records := make([][]byte, shards) // nil: there is no such shard
	err := parallel(int(shards), indexesAtOnce, func(k int) error {
		if err := storage.Ended(ctx, a.path); err != nil {
			return err
		}
		idx := make([]int64, len(a.grid))
		unravel(number(int64(k)), a.grid, idx)
		x, err := loadIndex(ctx, a.shardRef(idx, true))
		if err != nil {
			return err
		}
		if !x.missing {
			if x.info.Version == "" {
				return fault.New(fault.ErrUnsupported, "zarr", x.key, "the store knows no versions, so an index pack could not be trusted")
			}
			b := appendVersion(nil, x.info.Version)
			b = binary.AppendUvarint(b, uint64(x.info.Size+1))
			packed := packEntries(x.entries)
			b = binary.AppendUvarint(b, uint64(len(packed)))
			records[k] = append(b, packed...)
		}
		mu.Lock()
		defer mu.Unlock()
		if seen.Seen++; progress != nil {
			progress(seen)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	p := &packedArray{layout: layoutOf(a.meta)}
	last := int64(-1)
	for k, b := range records {
		if b == nil {
			continue
		}
		n := number(int64(k))
		p.body = binary.AppendUvarint(p.body, uint64(n-last-1))
		last = n
		p.numbers, p.places = append(p.numbers, n), append(p.places, len(p.body))
		p.body = append(p.body, b...)
	}
	return p, nil
}

// encode writes the file.
func (p *IndexPack) encode() []byte {
	b := append([]byte(packMagic), 0, 0, 0, 0)
	b = binary.AppendUvarint(b, uint64(len(p.arrays)))
	for _, a := range p.arrays {
		b = binary.AppendUvarint(b, uint64(len(a.path)))
		b = append(append(b, a.path...), a.layout[:]...)
		b = binary.AppendUvarint(b, uint64(len(a.numbers)))
		b = binary.AppendUvarint(b, uint64(len(a.body)))
		b = append(b, a.body...)
	}
	binary.LittleEndian.PutUint32(b[8:], storage.UpdateCRC(0, b[packHeader:]))
	return b
}
