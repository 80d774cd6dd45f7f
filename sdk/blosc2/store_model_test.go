package blosc2_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gridhold/gridhold/internal/faultfs"
	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/storage"
)

// values are what lies under the keys of a store: "array " or "frame ", and the
// bytes.
type values map[string]string

// store is what the three kinds have in common.
type store interface {
	blosc2.Container
	Keys(ctx context.Context) ([]string, error)
	Get(ctx context.Context, key string) (blosc2.Container, error)
	Put(ctx context.Context, key string, c blosc2.Container) error
}

// valueOf reads a value.
func valueOf(ctx context.Context, c blosc2.Container) (string, error) {
	switch c := c.(type) {
	case *blosc2.NDArray:
		b, err := c.Slice(ctx, nil, nil)
		return "array " + string(b), err
	case *blosc2.SChunk:
		b := make([]byte, c.Header().Size)
		err := c.ReadBytes(ctx, 0, b)
		return "frame " + string(b), err
	}
	return "", fmt.Errorf("a %s", c.Kind())
}

// container makes a value in memory.
func (v values) container(ctx context.Context, key string) (blosc2.Container, error) {
	kind, items, _ := strings.Cut(v[key], " ")
	fs := storage.NewMemoryFS(0)
	if kind == "array" {
		return blosc2.CreateFrom(ctx, fs, "v", blosc2.Shape{Shape: []int64{int64(len(items))}, DType: "|u1"}, []byte(items), blosc2.Spec{}, writing)
	}
	s, err := blosc2.CreateSChunk(ctx, fs, "v", blosc2.Spec{}, writing)
	if err != nil {
		return nil, err
	}
	return s, s.AppendChunk(ctx, []byte(items))
}

// stores is the subject of a store; which is "embed", "dict" or "tree".
func stores(which string, threshold int64) subject[values] {
	keys := []string{"/a", "/b", "/d/c", "/d/e/f"}
	spec := blosc2.StoreSpec{Tree: which == "tree", Threshold: threshold, OrOpen: true}
	sub := subject[values]{
		name: "s", empty: values{},
		open: func(ctx context.Context, fs storage.FS, o blosc2.Options) (blosc2.Container, error) {
			if which == "embed" || !o.Write {
				return blosc2.Open(ctx, fs, "s", o)
			}
			return blosc2.CreateStore(ctx, fs, "s", spec, o)
		},
		holds: func(ctx context.Context, c blosc2.Container, v values) error {
			s := c.(store)
			keys := s.Keys
			if t, ok := c.(*blosc2.TreeStore); ok { // whose keys are nodes
				keys = t.Leaves
			}
			got, err := keys(ctx)
			if err != nil {
				return err
			}
			if want := slices.Sorted(maps.Keys(v)); !slices.Equal(got, want) {
				return fmt.Errorf("keys %v, want %v", got, want)
			}
			for _, key := range got {
				leaf, err := s.Get(ctx, key)
				if err != nil {
					return fmt.Errorf("%s: %w", key, err)
				}
				value, err := valueOf(ctx, leaf)
				if err = errors.Join(err, leaf.Close()); err != nil {
					return fmt.Errorf("%s: %w", key, err)
				}
				if value != v[key] {
					return fmt.Errorf("%s: %.20q, want %.20q", key, value, v[key])
				}
			}
			return nil
		},
		snapshot: func(ctx context.Context, c blosc2.Container) (blosc2.Container, error) {
			switch c := c.(type) {
			case *blosc2.EmbedStore:
				return c.Snapshot(ctx)
			case *blosc2.DictStore:
				return c.Snapshot(ctx)
			}
			return c.(*blosc2.TreeStore).Snapshot(ctx)
		},
		litter: func(files []string, v values) []string {
			return slices.DeleteFunc(files, func(name string) bool {
				if name == "s" || name == "s/embed.b2e" || strings.HasPrefix(name, "s.b2z") || strings.HasSuffix(name, "/") || strings.HasSuffix(name, ".b2lock") {
					return true
				}
				_, ok := v[strings.TrimSuffix(strings.TrimPrefix(name, "s"), path.Ext(name))]
				return ok && (path.Ext(name) == ".b2nd" || path.Ext(name) == ".b2f")
			})
		},
	}
	if which != "embed" {
		sub.pack = func(ctx context.Context, fs storage.FS, c blosc2.Container) error {
			if t, ok := c.(*blosc2.TreeStore); ok {
				c = t.DictStore()
			}
			return c.(*blosc2.DictStore).ToB2Z(ctx, fs, "s.b2z", true)
		}
	}
	sub.create = func(ctx context.Context, fs storage.FS, o blosc2.Options) error {
		o.Write = true
		var c blosc2.Container
		var err error
		if which == "embed" {
			c, err = blosc2.CreateEmbedStore(ctx, fs, "s", o)
		} else {
			c, err = sub.open(ctx, fs, o)
		}
		if err != nil {
			return err
		}
		return c.Close()
	}
	sub.draw = func(t *rapid.T, v values) (a act[values]) {
		key := rapid.SampledFrom(keys).Draw(t, "key")
		_, there := v[key]
		if there && rapid.IntRange(0, 2).Draw(t, "delete") == 0 {
			a.what = "delete " + key
			a.apply = func(v values) values {
				v = maps.Clone(v)
				delete(v, key)
				return v
			}
			a.next = a.apply(v)
			a.do = func(ctx context.Context, c blosc2.Container) error {
				switch c := c.(type) {
				case *blosc2.EmbedStore:
					return c.Delete(ctx, key)
				case *blosc2.DictStore:
					return c.Delete(ctx, key)
				}
				return c.(*blosc2.TreeStore).DictStore().Delete(ctx, key)
			}
			return a
		}
		items := drawContent(t, rapid.SampledFrom([]int{1, 100, 3000}).Draw(t, "items"))
		value := rapid.SampledFrom([]string{"array ", "frame "}).Draw(t, "kind") + string(items)
		a.apply = func(v values) values {
			v = maps.Clone(v)
			v[key] = value
			return v
		}
		a.next = a.apply(v)
		a.what = fmt.Sprintf("put %s: %.6s of %d", key, a.next[key], len(items))
		if there && which == "embed" { // which refuses to replace
			a.between = []values{maps.Clone(v)}
			delete(a.between[0], key)
			a.apply = nil
		}
		a.do = func(ctx context.Context, c blosc2.Container) error {
			value, err := a.next.container(ctx, key)
			if err != nil {
				return err
			}
			defer value.Close()
			if e, ok := c.(*blosc2.EmbedStore); ok && there {
				if err := e.Delete(ctx, key); err != nil {
					return err
				}
			}
			return c.(store).Put(ctx, key, value)
		}
		return a
	}
	return sub
}

func TestModelOfStores(t *testing.T) {
	for _, tc := range []struct {
		name, which string
		threshold   int64
	}{{"embed", "embed", 0}, {"files", "dict", 0}, {"embedded", "dict", -1}, {"both", "dict", 500}, {"tree", "tree", 500}} {
		t.Run(tc.name, func(t *testing.T) {
			faultfs.Check(t, func(t *rapid.T) { check(t, stores(tc.which, tc.threshold)) })
		})
	}
}
