package interop

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
)

const (
	rootAttributes  = `{"title":"ñ","depth":3,"unit":null}`
	groupAttributes = `{"scale":[1,2.5],"deep":{"er":true}}`
	arrayAttributes = `{"title":"ñ","list":[1,2.5,null]}` // those of array.spec
)

// tree is what the tests of groups make: by path, sorted.
var tree = []node{
	{"a", "group", json.RawMessage(groupAttributes)},
	{"a/b", "array", json.RawMessage(arrayAttributes)},
	{"a/c", "group", json.RawMessage(`{}`)},
	{"a/c/d", "array", json.RawMessage(arrayAttributes)},
	{"e", "array", json.RawMessage(arrayAttributes)},
}

// lists says which peers find the nodes of a group by listing, and which in
// consolidated metadata.
var lists = map[string]struct{ listing, consolidated bool }{
	"zarr-python": {true, true},
	"zarrs-zarr":  {true, true},
	"zarrista":    {true, true},
	"zarrita":     {false, true},
	"tensorstore": {false, false}, // it has no groups
}

func TestTheyListOurGroups(t *testing.T) {
	eachPeer(t, func(t *testing.T, p *peer) {
		dir := t.TempDir()
		st := openStore(t, dir)
		_, err := zarr.CreateGroup(t.Context(), st, "", json.RawMessage(rootAttributes), zarr.Options{})
		require.NoError(t, err)
		for _, n := range tree {
			if n.Kind == "group" {
				_, err = zarr.CreateGroup(t.Context(), st, n.Path, n.Attributes, zarr.Options{})
			} else {
				_, err = sample().create(t.Context(), st, n.Path, true)
			}
			require.NoError(t, err)
		}
		ask := func(consolidated, can bool) {
			got := p.ask(t, request{Do: "list", Dir: dir, Consolidated: &consolidated})
			require.Equal(t, can, got.Refused == "", "consolidated %v: %s", consolidated, got.Refused)
			if can {
				require.JSONEq(t, rootAttributes, string(got.Attributes))
				sameNodes(t, tree, got.Nodes)
			}
		}
		ask(false, lists[p.name].listing)
		require.NoError(t, zarr.Consolidate(t.Context(), st, "", zarr.Options{}))
		ask(false, lists[p.name].listing)
		ask(true, lists[p.name].consolidated)
	})
}

func TestWeListTheirGroups(t *testing.T) {
	eachPeer(t, func(t *testing.T, p *peer) {
		if p.name == "tensorstore" || p.name == "zarrista" {
			path := "x"
			got := p.ask(t, request{Do: "group", Dir: t.TempDir(), Path: &path, Attributes: json.RawMessage(`{}`)})
			require.NotEmpty(t, got.Refused, "%s creates no groups", p.name)
			return
		}
		dir := t.TempDir()
		a := sample()
		z, err := a.create(t.Context(), storage.NewMemory(), "", false)
		require.NoError(t, err)
		root := ""
		p.must(t, request{Do: "group", Dir: dir, Path: &root, Attributes: json.RawMessage(rootAttributes)})
		for _, n := range tree {
			if n.Kind == "group" {
				p.must(t, request{Do: "group", Dir: dir, Path: &n.Path, Attributes: n.Attributes})
			} else {
				p.must(t, request{Do: "write", Dir: dir, Path: &n.Path, Metadata: z.Metadata()})
			}
		}
		st := openStore(t, dir)
		ours(t, st, zarr.Options{})
		if p.name == "zarrita" {
			return // it does not consolidate
		}
		p.must(t, request{Do: "consolidate", Dir: dir})
		ours(t, st, zarr.Options{})
		ours(t, withoutList{openStore(t, dir)}, zarr.Options{Consolidated: true})
	})
}

// withoutList is a store that cannot list.
type withoutList struct{ storage.Store }

// ours checks what is found here of a tree that a peer made.
func ours(t *testing.T, st storage.Store, o zarr.Options) {
	t.Helper()
	g, err := zarr.OpenGroup(t.Context(), st, "", o)
	require.NoError(t, err)
	require.JSONEq(t, rootAttributes, string(g.Attributes()))
	found, err := zarr.List(t.Context(), st, "", o)
	require.NoError(t, err)
	var got []node
	for _, e := range found {
		n, err := g.Open(t.Context(), e.Path)
		require.NoError(t, err)
		attributes := n.(interface{ Attributes() json.RawMessage }).Attributes()
		got = append(got, node{e.Path, e.Kind, attributes})
		if e.Kind == "array" {
			require.Equal(t, sample().shape, e.Shape)
		}
	}
	sameNodes(t, tree, got)
}

// Attributes that a peer sets are read here, those set here it reads, and
// what else the metadata says stays.
func TestAttributes(t *testing.T) {
	eachPeer(t, func(t *testing.T, p *peer) {
		dir, path := t.TempDir(), "x"
		a := sample()
		_, err := a.create(t.Context(), openStore(t, dir), path, true)
		require.NoError(t, err)
		set := func(text string) {
			require.NoError(t, zarr.SetAttributes(t.Context(), openStore(t, dir), path, json.RawMessage(text)))
		}
		for _, text := range []string{`{"a":{"b":[1,"ñ",null,-0.5]},"big":9007199254740991}`, `{}`} {
			got := p.ask(t, request{Do: "attributes", Dir: dir, Path: &path, Attributes: json.RawMessage(text)})
			if p.name == "tensorstore" || p.name == "zarrita" {
				require.NotEmpty(t, got.Refused, "%s sets no attributes", p.name)
				set(text)
			} else {
				require.Empty(t, got.Refused)
			}
			z, err := zarr.OpenArray(t.Context(), openStore(t, dir), path, zarr.Options{})
			require.NoError(t, err)
			require.JSONEq(t, text, withoutMark(t, z.Attributes()))
			require.Equal(t, a.shape, z.Shape())
			require.Equal(t, a.want(a.part()), read(t, filepath.Join(dir, path)).Data)

			set(`{"ours":` + text + `}`)
			again := p.must(t, request{Do: "read", Dir: dir, Path: &path})
			require.Equal(t, a.want(a.part()), again.Data)
			if len(again.Attributes) > 0 {
				require.JSONEq(t, `{"ours":`+text+`}`, withoutMark(t, again.Attributes))
			}
		}
	})
}

// withoutMark takes away the attribute by which zarrs signs its arrays.
func withoutMark(t *testing.T, attributes json.RawMessage) string {
	t.Helper()
	var all map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(attributes, &all))
	delete(all, "_zarrs")
	b, err := json.Marshal(all)
	require.NoError(t, err)
	return string(b)
}

// sample is an array that every peer reads and writes.
func sample() array {
	e := typeNamed("int16")
	return array{elementType: e, chain: chains[0], layout: layoutNamed("unsharded"), fillBits: e.zero()}
}

func sameNodes(t *testing.T, want, got []node) {
	t.Helper()
	slices.SortFunc(got, func(a, b node) int { return strings.Compare(a.Path, b.Path) })
	require.Len(t, got, len(want))
	for i, w := range want {
		require.Equal(t, w.Path, got[i].Path)
		require.Equal(t, w.Kind, got[i].Kind, w.Path)
		require.JSONEq(t, string(w.Attributes), withoutMark(t, got[i].Attributes), w.Path)
	}
}

func openStore(t *testing.T, dir string) *file.Store {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o777))
	st, err := file.Open(dir, file.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { st.Close() })
	return st
}
