package image

import (
	"iter"
	"slices"
	"strings"

	"github.com/gridhold/gridhold/sdk/fault"
)

// ImageLocationGrouping is a set of locations, file by file: keys in
// ascending order of their bytes, indices ascending, each location once. It
// does not change; safe for concurrent use.
type ImageLocationGrouping struct {
	groups []LocationGroup
	count  int64
}

// LocationGroup is what a grouping holds of one file.
type LocationGroup struct {
	Key     string
	Indices []int64 // ascending; nil if IsWhole
	IsWhole bool    // the whole file was named, perhaps besides images of it
}

// GroupLocations sorts and joins locations, which may repeat. A file that is
// named whole once is held whole. It holds 8 bytes a location besides the
// keys. ErrInvalid for an empty key or a negative index.
func GroupLocations(locations iter.Seq[ImageLocation]) (*ImageLocationGrouping, error) {
	places := map[string]int{} // of a key in groups
	var groups []LocationGroup
	last := -1 // the group of the location before: tables name a file many times in a row
	for l := range locations {
		if l.Key == "" || l.Index < WholeFile {
			return nil, fault.New(fault.ErrInvalid, "image location", l.Key, "an empty key or a negative index")
		}
		if last < 0 || groups[last].Key != l.Key {
			i, ok := places[l.Key]
			if !ok {
				i = len(groups)
				key := strings.Clone(l.Key) // which may be a part of a long text
				places[key] = i
				groups = append(groups, LocationGroup{Key: key})
			}
			last = i
		}
		g := &groups[last]
		if l.IsWhole() {
			g.IsWhole, g.Indices = true, nil
		} else if !g.IsWhole {
			g.Indices = append(g.Indices, l.Index)
		}
	}
	slices.SortFunc(groups, func(a, b LocationGroup) int { return strings.Compare(a.Key, b.Key) })
	s := &ImageLocationGrouping{groups: groups}
	for i := range groups {
		g := &groups[i]
		slices.Sort(g.Indices)
		g.Indices = slices.Clip(slices.Compact(g.Indices))
		s.count += max(int64(len(g.Indices)), 1)
	}
	return s, nil
}

// Len returns how many files there are.
func (s *ImageLocationGrouping) Len() int { return len(s.groups) }

// Count returns how many locations there are, each once; a whole file is one.
func (s *ImageLocationGrouping) Count() int64 { return s.count }

// Group returns what there is of the i-th file. The indices are the
// grouping's. It panics if i is not in [0, Len()).
func (s *ImageLocationGrouping) Group(i int) LocationGroup { return s.groups[i] }

// Find returns the place of a key.
func (s *ImageLocationGrouping) Find(key string) (i int, ok bool) {
	return slices.BinarySearchFunc(s.groups, key, func(g LocationGroup, key string) int {
		return strings.Compare(g.Key, key)
	})
}

// All yields every location in order.
func (s *ImageLocationGrouping) All() iter.Seq[ImageLocation] {
	return func(yield func(ImageLocation) bool) {
		for _, g := range s.groups {
			if g.IsWhole && !yield(ImageLocation{g.Key, WholeFile}) {
				return
			}
			for _, i := range g.Indices {
				if !yield(ImageLocation{g.Key, i}) {
					return
				}
			}
		}
	}
}
