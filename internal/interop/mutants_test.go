package interop

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/internal/golden"
	"github.com/gridhold/gridhold/internal/proof"
	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// frail is a peer that may die of what it reads, or never end: it is started
// anew then.
type frail struct {
	name    string
	deaths  int
	waits   int // that were given up
	in      io.WriteCloser
	answers chan []byte // closed at its end
	kill    func()
}

func (p *frail) start(t *testing.T) {
	// What a damaged length makes it ask for is refused, not taken from the machine.
	command := append([]string{"-c", `ulimit -v 8000000; exec "$@"`, "sh"}, launch[p.name]...)
	cmd := exec.Command("sh", command...)
	cmd.Dir = "peers"
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	answers := make(chan []byte, 1)
	go func() {
		defer close(answers)
		for r := bufio.NewReader(out); ; {
			line, err := r.ReadBytes('\n')
			if err != nil {
				return
			}
			answers <- line
		}
	}()
	p.in, p.answers = in, answers
	p.kill = func() {
		cmd.Process.Kill()
		for range answers {
		}
		cmd.Wait()
	}
}

func (p *frail) end() {
	if p.in != nil {
		p.kill()
	}
}

// ask returns the answer to a request; ok is false if there is none.
func (p *frail) ask(t *testing.T, request, answer any) (ok bool) {
	if p.in == nil {
		p.start(t)
	}
	line, err := json.Marshal(request)
	require.NoError(t, err)
	_, err = p.in.Write(append(line, '\n'))
	var text []byte
	if err == nil {
		select {
		case text, ok = <-p.answers:
		case <-time.After(time.Minute):
			p.waits++
		}
	}
	if !ok {
		p.deaths++
		p.kill()
		p.in = nil
		return false
	}
	require.NoError(t, json.Unmarshal(text, answer), "%.300s", text)
	return true
}

// tally is how pairs of readers ended.
type tally struct {
	mutants     int
	same        int            // both read the same
	refused     int            // both refused
	peerRefused int            // what we read
	uncompared  int            // the peer took it for something that has no bytes to compare, or contradicts itself
	stricter    map[string]int // what we refused and the peer read, by why
	deaths      int            // of the peer
}

// stricter are texts of our refusals of what a peer reads, and why it stays so.
type stricter map[string]string

// count notes one more pair; it fails for one that nobody looked at.
func (l *tally) count(t *testing.T, what string, ours error, theirs string, same bool, known stricter) {
	t.Helper()
	l.mutants++
	switch {
	case ours != nil && theirs != "":
		l.refused++
	case ours != nil:
		for part, why := range known {
			if strings.Contains(ours.Error(), part) {
				l.stricter[why]++
				return
			}
		}
		t.Errorf("%s: the peer reads it, and here: %v", what, ours)
	case theirs != "":
		l.peerRefused++
	case same:
		l.same++
	default:
		t.Errorf("%s: read, and other than by the peer", what)
	}
}

// mutate changes a few bytes of b, cuts it, or moves a piece of it over another.
func mutate(r *rand.Rand, b []byte) []byte {
	b = slices.Clone(b)
	switch r.IntN(8) {
	case 0:
		return b[:r.IntN(len(b))]
	case 1:
		copy(b[r.IntN(len(b)):], b[r.IntN(len(b)):])
	case 2:
		at := r.IntN(len(b))
		copy(b[at:], []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}[r.IntN(8):])
	case 3:
		b[r.IntN(len(b))] = byte(r.IntN(4)) // a small number
	default:
		for range 1 + r.IntN(3) {
			b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		}
	}
	return b
}

// plan is how many mutants are made, of which files. The environment may ask
// for more: GRIDHOLD_MUTANTS='{"rounds": 20, "seed": 7}'.
type plan struct {
	Rounds int
	Seed   uint64
	every  int // file
}

func planned(t *testing.T) plan {
	text := os.Getenv("GRIDHOLD_MUTANTS")
	if text == "" {
		return plan{Rounds: 1, Seed: 1, every: 4}
	}
	p := plan{Seed: 1, every: 1}
	require.NoError(t, json.Unmarshal([]byte(text), &p))
	return p
}

func (p plan) takes(k int) bool { return k%p.every == 0 }

// what says how a mutant is made again.
func (p plan) what(name string, n, k int) string {
	return fmt.Sprintf("%s, mutant %d of seed %d, %d", filepath.Base(name), n, p.Seed, k)
}

// TestMutants reads damaged copies of files that the peers wrote, here and by
// the peers: the same comes out, or both refuse; what we refuse and they read
// is of a kind that somebody looked at. A peer that dies of a file is started
// anew. GRIDHOLD_PROOF is a file for what it came to.
func TestMutants(t *testing.T) {
	requirePeers(t)
	var records []proof.Record
	for name, play := range map[string]func(*testing.T) *tally{"python-blosc2": mutantsOfBlosc2, "zarr-python": mutantsOfZarr} {
		t.Run(name, func(t *testing.T) {
			l := play(t)
			counts := map[string]int64{
				"bad inputs": int64(l.mutants), "read the same": int64(l.same), "refused by both": int64(l.refused),
				"read here and refused by the peer": int64(l.peerRefused), "of which the peer died": int64(l.deaths), "wrong": 0,
			}
			for _, n := range l.stricter {
				counts["refused here and read by the peer"] += int64(n)
			}
			records = append(records, proof.Record{
				What: "Damaged files, read here and by " + name, When: time.Now(), Command: "make mutants", Machine: proof.Machine(), Counts: counts,
			})
		})
	}
	if file := os.Getenv("GRIDHOLD_PROOF"); file != "" {
		slices.SortFunc(records, func(a, b proof.Record) int { return strings.Compare(a.What, b.What) })
		require.NoError(t, proof.Write(file, records...))
	}
}

func (l *tally) report(t *testing.T, p *frail) {
	l.deaths = p.deaths
	t.Logf("%+v; the peer died %d times, and was given up %d times", *l, p.deaths, p.waits)
	require.Positive(t, l.same)
	require.Positive(t, l.refused)
}

// strictBlosc2 is what python-blosc2 does not look at.
var strictBlosc2 = stricter{
	"is no header of a frame": "types of fields of the header", "no values of metalayers": "types of fields of the metalayers",
	"no metalayers where they are due": "types of fields of the metalayers", "no trailer where it is due": "types of fields of the trailer",
	"more data than the frame has bytes": "sizes that contradict each other", "blocks larger than chunks": "sizes that contradict each other",
	"which are not those of the array": "sizes that contradict each other", "of a negative size": "sizes that contradict each other",
	"bytes of chunk, has": "sizes that contradict each other", "not those of the frame": "sizes that contradict each other", "no side where it is due": "types of fields of the shape",
	"data type: ":        "data types that NumPy takes in spellings that nobody writes",
	"zstd: ":             "streams that end early, or late: RFC 8878, section 4.2.2",
	"b2nd: version ":     "versions of the shape that there are not yet",
	"lz4: a match":       "matches at a distance of 0, which the format has not",
	"frame: decodes to ": "sizes that contradict each other", "blosc: version 0": "chunks of before Blosc 1.0",
	"is a plugin": "codecs that are not built in", "over a limit": "limits",
}

func mutantsOfBlosc2(t *testing.T) *tally {
	p := &frail{name: "python-blosc2"}
	defer p.end()
	dir, fs := folderFS(t)
	var names []string
	for _, pattern := range []string{"*/*.b2nd", "*/*.b2frame"} {
		some, err := filepath.Glob("../../testdata/blosc2/" + pattern)
		require.NoError(t, err)
		names = append(names, some...)
	}
	all := tally{stricter: map[string]int{}}
	plan := planned(t)
	for k, golden := range names {
		b, err := os.ReadFile(golden)
		require.NoError(t, err)
		if len(b) > 1<<16 || strings.Contains(golden, "corrupt") || !plan.takes(k) {
			continue
		}
		r := rand.New(rand.NewPCG(plan.Seed, uint64(k)))
		for n := range plan.Rounds {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "m.b2nd"), mutate(r, b), 0o600))
			ours, ourErr := contentOf(t.Context(), fs)
			var said struct {
				Refused  string
				Outcomes []outcome
			}
			if !p.ask(t, map[string]any{"do": "read", "dir": dir, "jobs": []name{{"m.b2nd"}}}, &said) {
				said.Refused = "died"
			}
			theirs := outcome{Refused: said.Refused}
			if len(said.Outcomes) == 1 {
				theirs = said.Outcomes[0]
			}
			if theirs.Values != nil && ourErr == nil {
				all.mutants, all.uncompared = all.mutants+1, all.uncompared+1
				continue
			}
			if ourErr == nil && theirs.Refused == "" && ours.Data != theirs.Data && p.contradictsItself(t, dir, fs) {
				all.mutants, all.uncompared = all.mutants+1, all.uncompared+1
				continue
			}
			same := ours.Kind == theirs.Kind && ours.Data == theirs.Data && slices.Equal(ours.Chunks, theirs.Chunks) && slices.Equal(ours.Shape, theirs.Shape)
			all.count(t, plan.what(golden, n, k), ourErr, theirs.Refused, same, strictBlosc2)
		}
	}
	all.report(t, p)
	return &all
}

// contradictsItself reports whether the peer decodes chunks of an array, one by
// one, to what they are here: its slices then have other items than its
// chunks, as where a damaged header asks for the filter delta, which takes
// block 0 to undo.
func (p *frail) contradictsItself(t *testing.T, dir string, fs storage.FS) bool {
	var said struct{ Outcomes []outcome }
	if !p.ask(t, map[string]any{"do": "chunks", "dir": dir, "jobs": []name{{"m.b2nd"}}}, &said) || len(said.Outcomes) != 1 {
		return false
	}
	c, err := blosc2.Open(t.Context(), fs, "m.b2nd", blosc2.Options{})
	require.NoError(t, err)
	defer c.Close()
	a, ok := c.(*blosc2.NDArray)
	if !ok {
		return false
	}
	var ours []string
	for b, err := range a.SChunk().Chunks(t.Context()) {
		require.NoError(t, err)
		ours = append(ours, digest(b))
	}
	return slices.Equal(ours, said.Outcomes[0].Chunks)
}

func contentOf(ctx context.Context, fs storage.FS) (state, error) {
	c, err := blosc2.Open(ctx, fs, "m.b2nd", blosc2.Options{Limits: blosc2.Limits{Index: 1 << 24, Chunk: 1 << 26, Meta: 1 << 24}})
	if err != nil {
		return state{}, err
	}
	defer c.Close()
	if a, ok := c.(*blosc2.NDArray); ok && elementCount(a.Shape().Shape)*a.DType().Size() > 1<<26 {
		return state{}, fault.New(fault.ErrLimit, "test", "", "too large to be read here")
	}
	return stateOf(ctx, c)
}

// elementCount is that of a shape, or 2^27 for any above.
func elementCount(shape []int64) int64 {
	n := int64(1)
	for _, x := range shape {
		if n *= x; n > 1<<27 {
			return 1 << 27
		}
	}
	return n
}

// strictZarr is what zarr-python does not look at.
var strictZarr = stricter{
	"shard index: entry": "entries of subchunks that lie outside of the array, and ranges that pass the end of the shard, of which it takes what there is",
	"unknown member":     "members that nobody knows",
	"zstd: ":             "streams that end early, or late",
}

func mutantsOfZarr(t *testing.T) *tally {
	p := &frail{name: "zarr-python"}
	defer p.end()
	dir, err := golden.Zarr()
	require.NoError(t, err)
	m, err := golden.Load(dir)
	require.NoError(t, err)
	all := tally{stricter: map[string]int{}}
	plan := planned(t)
	root := ""
	for k, node := range m.Nodes {
		if node.NodeType == "group" || node.ZarrFormat != 3 || node.Bytes > 1<<15 || !plan.takes(k) {
			continue
		}
		files := map[string][]byte{}
		from := os.DirFS(filepath.Join(dir, node.Path))
		require.NoError(t, fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				files[name], err = fs.ReadFile(from, name)
			}
			return err
		}))
		names := slices.Sorted(maps.Keys(files))
		if len(names) > 60 {
			continue
		}
		r := rand.New(rand.NewPCG(plan.Seed, uint64(k)))
		for n := range plan.Rounds {
			root = t.TempDir()
			chosen := names[r.IntN(len(names))]
			for _, name := range names {
				b := files[name]
				if name == chosen && len(b) > 0 {
					b = mutate(r, b)
				}
				path := filepath.Join(root, name)
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
				require.NoError(t, os.WriteFile(path, b, 0o600))
			}
			ours, shape, ourErr := zarrContent(t, root)
			if shape != nil && elementCount(shape) > 1<<20 {
				continue
			}
			var theirs answer
			path := ""
			if !p.ask(t, request{Do: "read", Dir: root, Path: &path}, &theirs) {
				theirs.Refused = "died"
			}
			same := slices.Equal(shape, theirs.Shape) && bytes.Equal(ours, theirs.Data)
			all.count(t, plan.what(node.Name+" "+chosen, n, k), ourErr, theirs.Refused, same, strictZarr)
		}
	}
	all.report(t, p)
	return &all
}

func zarrContent(t *testing.T, root string) (data []byte, shape []int64, err error) {
	st, err := file.Open(root, file.Options{})
	require.NoError(t, err)
	defer st.Close()
	a, err := zarr.OpenArray(t.Context(), st, "", zarr.Options{Limits: zarr.Limits{Index: 1 << 24, Chunk: 1 << 26}})
	if err != nil {
		return nil, nil, err
	}
	if elementCount(a.Shape()) > 1<<20 {
		return nil, a.Shape(), fault.New(fault.ErrLimit, "test", "", "too large to be read here")
	}
	data, err = a.RetrieveRegion(t.Context(), make([]int64, len(a.Shape())), a.Shape(), zarr.ReadOptions{})
	return data, a.Shape(), err
}
