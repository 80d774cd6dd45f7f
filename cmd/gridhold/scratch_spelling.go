package main

import (
	"context"
	"slices"
	"strings"

	"github.com/gridhold/gridhold/sdk/image"
)

// spellings finds the paths that name one file in different ways, so that a
// scratch holds its images once. The first one stands for all: a table that
// has one for each file keeps its keys, and programs that read it find the
// scratch by them. Links are not followed: they may lead elsewhere tomorrow.
type spellings struct {
	known  map[named]spelling
	claims map[string][]named // by the name of a file: what may mean it
}

// named is a key and what named it.
type named struct {
	from *images
	key  string
}

// spelling is what stands for a key.
type spelling struct {
	key   string
	other bool // something else named the file before
}

// of returns what stands for a key of m.
func (s *spellings) of(ctx context.Context, m *images, key string) spelling {
	if is, ok := s.known[named{m, key}]; ok {
		return is
	}
	n := named{m, strings.Clone(key)} // it may be a part of a long text
	is := spelling{key: n.key}
	if same, ok := s.same(ctx, n); ok {
		is = spelling{s.known[same].key, true}
	}
	if s.known == nil {
		s.known, s.claims = map[named]spelling{}, map[string][]named{}
	}
	s.known[n] = is
	for _, name := range n.names() {
		s.claims[name] = append(s.claims[name], n)
	}
	return is
}

// same returns what named the file of n before. Only files that several names
// may mean are looked for.
func (s *spellings) same(ctx context.Context, n named) (same named, ok bool) {
	names := n.names()
	if !slices.ContainsFunc(names, func(name string) bool { return len(s.claims[name]) > 0 }) {
		return named{}, false
	}
	file := n.file(ctx, names)
	for _, other := range s.claims[file] {
		if other.file(ctx, other.names()) == file {
			return other, true
		}
	}
	return named{}, false
}

// names are those that the file of a local key may have.
func (n named) names() []string {
	if n.from.find == nil {
		return nil
	}
	names, _ := image.Names(n.key, n.from.roots...) // opening it says what is wrong
	return names
}

// file is the first of its names that there is a file of, or the first of all.
func (n named) file(ctx context.Context, names []string) string {
	for _, name := range names {
		if n.from.find(ctx, name) {
			return name
		}
	}
	return names[0]
}
