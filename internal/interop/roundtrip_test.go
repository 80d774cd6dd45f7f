package interop

import (
	"context"
	"fmt"
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

// Every array of the table, written here, is read by each peer: right, or
// refused, as the table of limits says and not otherwise.
func TestTheyReadWhatWeWrite(t *testing.T) {
	dir := t.TempDir()
	all := arrays()
	for i, a := range all {
		st := storage.NewMemory()
		_, err := a.create(t.Context(), st, "", true)
		require.NoError(t, err, a.name())
		save(t, st, "", filepath.Join(dir, folder(i)))
	}
	eachPeer(t, func(t *testing.T, p *peer) {
		for i, a := range all {
			path := folder(i)
			got := p.ask(t, request{Do: "read", Dir: dir, Path: &path})
			judge(t, p, "read", a, got, got)
		}
	})
}

// Every array of the table that a peer can write is read here, whole, and
// found sound.
func TestWeReadWhatTheyWrite(t *testing.T) {
	all := arrays()
	metadata := make([][]byte, len(all))
	for i, a := range all {
		z, err := a.create(t.Context(), storage.NewMemory(), "", false)
		require.NoError(t, err, a.name())
		metadata[i] = z.Metadata()
	}
	eachPeer(t, func(t *testing.T, p *peer) {
		dir := t.TempDir()
		said := make([]answer, len(all))
		for i, a := range all {
			path := folder(i)
			said[i] = p.ask(t, request{Do: "write", Dir: dir, Path: &path, Metadata: metadata[i], Parts: []part{a.part()}})
		}
		// Reading comes after all writing: a store waits for a file that was
		// written this instant to settle.
		for i, a := range all {
			var got answer
			if said[i].Refused == "" {
				got = read(t, filepath.Join(dir, folder(i)))
			}
			judge(t, p, "write", a, said[i], got)
		}
	})
}

// Arrays that a peer wrote are changed in part here, then by the peer: both
// see all of it.
func TestTheyAndWeChangeOneArray(t *testing.T) {
	eachPeer(t, func(t *testing.T, p *peer) {
		dir := t.TempDir()
		var all []array
		for _, a := range arrays() {
			does := func(what string) bool { v, _ := verdict(p.name, what, a); return v == "right" }
			if a.changes() && does("read") && does("write") {
				all = append(all, a)
			}
		}
		require.Greater(t, len(all), 10)
		ours := func(a array) part { return a.block(at(1, 1), at(7, a.shape[1]-1), 5) }
		theirs := func(a array) part { return a.block(at(5, 0), at(a.shape[0], 3), 11) }
		for i, a := range all {
			z, err := a.create(t.Context(), storage.NewMemory(), "", false)
			require.NoError(t, err)
			path := folder(i)
			p.must(t, request{Do: "write", Dir: dir, Path: &path, Metadata: z.Metadata(), Parts: []part{a.part()}})
		}
		for i, a := range all {
			change(t, filepath.Join(dir, folder(i)), ours(a))
		}
		for i, a := range all {
			path := folder(i)
			got := p.must(t, request{Do: "read", Dir: dir, Path: &path})
			require.Equal(t, a.want(a.part(), ours(a)), got.Data, a.name())
			p.must(t, request{Do: "change", Dir: dir, Path: &path, Parts: []part{theirs(a)}})
		}
		for i, a := range all {
			got := read(t, filepath.Join(dir, folder(i)))
			require.Empty(t, got.Refused, a.name())
			require.Equal(t, a.want(a.part(), ours(a), theirs(a)), got.Data, a.name())
		}
	})
}

// changes picks the arrays that are changed by turns: every type, sharded and
// not, and every layout of two axes with two chains of codecs.
func (a array) changes() bool {
	if len(a.shape) != 2 || a.shape[0] < 8 || a.fill != "" {
		return false
	}
	plain := a.chain.name == "none" && (a.layout.name == "sharded" || a.layout.name == "unsharded")
	return plain || a.elementType.name == "int16" && (a.chain.name == "zstd" || a.chain.name == "all")
}

func change(t *testing.T, dir string, p part) {
	t.Helper()
	st, err := file.Open(dir, file.Options{})
	require.NoError(t, err)
	defer st.Close()
	z, err := zarr.OpenArray(t.Context(), st, "", zarr.Options{})
	require.NoError(t, err)
	require.NoError(t, z.StoreRegion(t.Context(), p.Start, p.Stop, p.Data))
}

// read is the answer that a peer would give, from here.
func read(t *testing.T, dir string) answer {
	t.Helper()
	st, err := file.Open(dir, file.Options{})
	require.NoError(t, err)
	defer st.Close()
	z, err := zarr.OpenArray(t.Context(), st, "", zarr.Options{})
	if err != nil {
		return answer{Refused: err.Error()}
	}
	data, err := z.RetrieveRegion(t.Context(), make([]int64, len(z.Shape())), z.Shape(), zarr.ReadOptions{})
	if err != nil {
		return answer{Refused: err.Error()}
	}
	_, err = zarr.Verify(t.Context(), st, "", zarr.Options{}, func(d zarr.Damage) { t.Errorf("%s: %v", dir, d) })
	require.NoError(t, err)
	return answer{Shape: z.Shape(), Data: data}
}

// judge compares how reading or writing ended with how it has to. said is the
// peer's answer, got the array that was read, by the peer or here.
func judge(t *testing.T, p *peer, does string, a array, said, got answer) {
	t.Helper()
	ended := "right"
	switch {
	case said.Refused != "":
		ended = "refused"
	case got.Refused != "" || !slices.Equal(got.Shape, a.shape) || string(got.Data) != string(a.want(a.part())):
		ended = "wrong"
	}
	if want, why := verdict(p.name, does, a); ended != want {
		t.Errorf("%s of %s by %s: %s, want %s %s\n%s%s", does, a.name(), p.name, ended, want, why, said.Refused, got.Refused)
		if ended == "wrong" {
			t.Logf("got  %v %x\nwant %v %x", got.Shape, got.Data, a.shape, a.want(a.part()))
		}
	}
}

func folder(i int) string { return fmt.Sprintf("%04d", i) }

// save copies the objects below a prefix to files. Storing them there in the
// first place would wait for the disk thousands of times.
func save(t *testing.T, st *storage.Memory, prefix, dir string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o777))
	names, err := st.List(context.Background(), prefix)
	require.NoError(t, err)
	for _, n := range names {
		if below, ok := strings.CutSuffix(n, "/"); ok {
			save(t, st, prefix+n, filepath.Join(dir, below))
			continue
		}
		b, _, err := storage.ReadAll(context.Background(), st, prefix+n, 1<<20)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, n), b, 0o666))
	}
}
