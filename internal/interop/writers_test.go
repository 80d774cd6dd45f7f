package interop

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// The test binary runs itself as a writer: which kind, and on which folder,
// the environment says. It speaks over pipes.
const (
	childRole = "GRIDHOLD_INTEROP_ROLE"
	childDir  = "GRIDHOLD_INTEROP_DIR"
)

var children = map[string]func(dir string){"rewrite": rewriteForever, "subchunk": writeSubchunk}

func child(t *testing.T, role, dir string) (*exec.Cmd, io.WriteCloser, *bufio.Reader) {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childRole+"="+role, childDir+"="+dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	return cmd, in, bufio.NewReader(out)
}

func numbers(v uint16, n int64) []byte {
	var b []byte
	for range n {
		b = binary.LittleEndian.AppendUint16(b, v)
	}
	return b
}

// The array that is rewritten: one shard of 64 subchunks, and the part of it
// that changes, which cuts through some.
var (
	rewritten = zarr.ArraySpec{Shape: at(64, 64), ChunkShape: at(64, 64), SubchunkShape: at(8, 8), DataType: "uint16",
		Codecs: []zarr.Codec{little, zstd, crc}}
	from, to = at(4, 4), at(60, 44)
)

// Report 13: a writer that is killed at any moment while it rewrites part of
// a shard leaves the old shard or the new one. What it leaves besides is no
// key, and is gone with the next write.
func TestReport13KilledWhileRewritingAShard(t *testing.T) {
	rounds := 50
	if testing.Short() {
		rounds = 8
	}
	dir := t.TempDir()
	st := openStore(t, dir)
	a, err := zarr.CreateArray(t.Context(), st, "a", rewritten, zarr.Options{})
	require.NoError(t, err)
	require.NoError(t, a.StoreChunk(t.Context(), at(0, 0), numbers(7, 64*64)))
	cache := a.ShardCache(zarr.CacheOptions{})
	r := rand.New(rand.NewPCG(1, 2))
	left := 0
	for range rounds {
		cmd, in, out := child(t, "rewrite", dir)
		said := uint16(0)
		for range 1 + r.IntN(3) {
			line, err := out.ReadString('\n')
			require.NoError(t, err)
			n, err := strconv.ParseUint(strings.TrimSpace(line), 10, 16)
			require.NoError(t, err)
			said = uint16(n)
		}
		work(r.IntN(3 << 20)) // some of the next round
		require.NoError(t, cmd.Process.Kill())
		rest, err := io.ReadAll(out)
		require.NoError(t, err)
		cmd.Wait()
		in.Close()
		said += uint16(strings.Count(string(rest), "\n"))

		got := oneValue(t, a, cache)
		require.Contains(t, []uint16{said, said + 1}, got, "the last that was in place, or the one after")
		_, err = zarr.Verify(t.Context(), st, "a", zarr.Options{}, func(d zarr.Damage) { t.Error(d) })
		require.NoError(t, err)
		names, err := st.List(t.Context(), "a/c/0/")
		require.NoError(t, err)
		require.Equal(t, []string{"0"}, names)
		entries, err := os.ReadDir(filepath.Join(dir, "a/c/0"))
		require.NoError(t, err)
		require.LessOrEqual(t, len(entries), 2, "of earlier writers nothing is left")
		left += len(entries) - 1
	}
	t.Logf("%d of %d killed writers left a temporary file", left, rounds)
	last, err := zarr.OpenArray(t.Context(), openStore(t, dir), "a", zarr.Options{})
	require.NoError(t, err)
	require.NoError(t, last.StoreRegion(t.Context(), from, to, numbers(3, 56*40)))
	require.Equal(t, uint16(3), oneValue(t, a, cache))
	entries, err := os.ReadDir(filepath.Join(dir, "a/c/0"))
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

// oneValue is the value of all elements that are rewritten; the others are as
// they were.
func oneValue(t *testing.T, a *zarr.Array, cache *zarr.ShardCache) uint16 {
	t.Helper()
	b, err := a.RetrieveRegion(t.Context(), at(0, 0), a.Shape(), zarr.ReadOptions{Cache: cache})
	require.NoError(t, err)
	value := binary.LittleEndian.Uint16(b[2*(from[0]*64+from[1]):])
	i := 0
	eachElement(at(0, 0), a.Shape(), func(p []int64) {
		want := uint16(7)
		if inside(p, from, to) {
			want = value
		}
		if got := binary.LittleEndian.Uint16(b[i:]); got != want {
			t.Fatalf("element %v is %d, want %d", p, got, want)
		}
		i += 2
	})
	return value
}

// work takes a while that differs with n.
func work(n int) {
	crc32.ChecksumIEEE(make([]byte, n))
}

// rewriteForever says which value is in place, each time.
func rewriteForever(dir string) {
	a := openIn(dir)
	b, err := a.RetrieveRegion(context.Background(), from, at(from[0]+1, from[1]+1), zarr.ReadOptions{})
	must(err)
	for v := binary.LittleEndian.Uint16(b) + 1; ; v++ {
		must(a.StoreRegion(context.Background(), from, to, numbers(v, 56*40)))
		if _, err := fmt.Println(v); err != nil {
			return
		}
	}
}

// Report 12: processes that each write their subchunk of one shard at the
// same time lose nothing.
func TestReport12ProcessesWriteOneShard(t *testing.T) {
	const writers = 4
	rounds := 30
	if testing.Short() {
		rounds = 5
	}
	dir := t.TempDir()
	st := openStore(t, dir)
	a, err := zarr.CreateArray(t.Context(), st, "a", zarr.ArraySpec{Shape: at(writers, 32), ChunkShape: at(writers, 32),
		SubchunkShape: at(1, 32), DataType: "uint16"}, zarr.Options{})
	require.NoError(t, err)
	var ins []io.Writer
	var outs []*bufio.Reader
	for range writers {
		cmd, in, out := child(t, "subchunk", dir)
		defer cmd.Wait()
		defer in.Close() // it ends when there is nothing more to read
		ins, outs = append(ins, in), append(outs, out)
	}
	for round := range rounds {
		var want []byte
		for i, in := range ins {
			v := uint16(writers*round + i + 1)
			_, err := fmt.Fprintln(in, i, v)
			require.NoError(t, err)
			want = append(want, numbers(v, 32)...)
		}
		for _, out := range outs {
			line, err := out.ReadString('\n')
			require.NoError(t, err)
			require.Equal(t, "done\n", line)
		}
		got, err := a.RetrieveRegion(t.Context(), at(0, 0), a.Shape(), zarr.ReadOptions{})
		require.NoError(t, err)
		require.Equal(t, want, got, "round %d", round)
		if round%7 == 6 { // again from a shard that is not there
			require.NoError(t, a.EraseChunk(t.Context(), at(0, 0)))
		}
	}
	_, err = zarr.Verify(t.Context(), st, "a", zarr.Options{}, func(d zarr.Damage) { t.Error(d) })
	require.NoError(t, err)
}

// writeSubchunk writes what it is told to.
func writeSubchunk(dir string) {
	a := openIn(dir)
	in := bufio.NewReader(os.Stdin)
	for {
		var i int64
		var v uint16
		if _, err := fmt.Fscanln(in, &i, &v); err != nil {
			return
		}
		must(a.StoreSubchunk(context.Background(), at(i, 0), numbers(v, 32)))
		fmt.Println("done")
	}
}

func openIn(dir string) *zarr.Array {
	st, err := file.Open(dir, file.Options{})
	must(err)
	a, err := zarr.OpenArray(context.Background(), st, "a", zarr.Options{})
	must(err)
	return a
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
