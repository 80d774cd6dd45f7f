package server_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/native/server"
	"github.com/gridhold/gridhold/sdk/blosc2"
)

// growing is a served directory with a container that can grow: rows of 4
// numbers.
type growing struct {
	*running
	t     *testing.T
	array *blosc2.NDArray
}

func grow(t *testing.T, o server.Options) *growing {
	store, dir := directory(t, map[string][]byte{"other": []byte("no container")})
	fs, err := file.OpenFS(dir)
	require.NoError(t, err)
	t.Cleanup(func() { fs.Close() })
	shape := blosc2.Shape{Shape: []int64{0, 4}, Chunks: []int64{8, 4}, Blocks: []int64{4, 4}, DType: "<i4"}
	a, err := blosc2.CreateArray(ctx, fs, "a.b2nd", shape, blosc2.Spec{}, blosc2.Options{Write: true})
	require.NoError(t, err)
	t.Cleanup(func() { a.Close() })
	o.Files = fs
	return &growing{run(t, server.New(store, o), server.Limits{}), t, a}
}

func (g *growing) add() {
	row := make([]byte, 16)
	binary.LittleEndian.PutUint32(row, uint32(g.array.Shape().Shape[0]))
	require.NoError(g.t, g.array.Append(ctx, 0, row))
}

// events opens the stream of a container.
func (g *growing) events(c context.Context, key string) *http.Response {
	req, err := http.NewRequestWithContext(c, "GET", g.url()+"/"+key+"?events", nil)
	require.NoError(g.t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(g.t, err)
	g.t.Cleanup(func() { res.Body.Close() })
	return res
}

// next reads the next event of a kind; of comments the name is "".
func next(t *testing.T, lines *bufio.Scanner, kind string) (data string) {
	t.Helper()
	event := ""
	for lines.Scan() {
		switch line := lines.Text(); {
		case strings.HasPrefix(line, ":") && kind == "":
			return line
		case strings.HasPrefix(line, "event: "):
			event = line[7:]
		case strings.HasPrefix(line, "data: ") && event == kind:
			return line[6:]
		}
	}
	t.Fatalf("the stream ended: %v", lines.Err())
	return ""
}

func change(t *testing.T, lines *bufio.Scanner) (c server.Change) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(next(t, lines, "change")), &c))
	return c
}

func TestEvents(t *testing.T) {
	g := grow(t, server.Options{Beat: 20 * time.Millisecond})
	res := g.events(ctx, "a.b2nd")
	require.Equal(t, 200, res.StatusCode)
	require.Equal(t, "text/event-stream", res.Header.Get("Content-Type"))
	require.Equal(t, "no-store", res.Header.Get("Cache-Control"))
	lines := bufio.NewScanner(res.Body)
	require.Equal(t, []int64{0, 4}, change(t, lines).Shape)
	g.add()
	c := change(t, lines)
	require.Equal(t, []int64{1, 4}, c.Shape)
	require.EqualValues(t, 8*16, c.Bytes, "a chunk")
	began := time.Now()
	for range 100 { // faster than is told
		g.add()
	}
	told := 1
	for c = change(t, lines); c.Shape[0] < 101; c = change(t, lines) {
		told++
	}
	require.LessOrEqual(t, told, 3+int(time.Since(began)/(25*time.Millisecond)), "it rests for 50 ms after each")
	require.Equal(t, ": still here", next(t, lines, ""), "while nothing happens")

	require.Equal(t, 404, g.events(ctx, "absent").StatusCode)
	require.Equal(t, 422, g.events(ctx, "other").StatusCode)
	require.Equal(t, 501, ask(t, "GET", serve(t, memory(nil), server.Options{})+"/a?events").StatusCode)
	g.stop() // ends what has no end
	for lines.Scan() {
	}
	require.NoError(t, <-g.ended)
}

// A stream on a connection of HTTP/2 ends with the server too.
func TestEventsHTTP2(t *testing.T) {
	g := grow(t, server.Options{})
	var p http.Protocols
	p.SetUnencryptedHTTP2(true)
	tr := &http.Transport{Protocols: &p}
	defer tr.CloseIdleConnections()
	req, err := http.NewRequest("GET", g.url()+"/a.b2nd?events", nil)
	require.NoError(t, err)
	res, err := tr.RoundTrip(req)
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, 2, res.ProtoMajor)
	lines := bufio.NewScanner(res.Body)
	change(t, lines)
	g.add()
	require.Equal(t, []int64{1, 4}, change(t, lines).Shape)
	g.stop()
	for lines.Scan() {
	}
	require.NoError(t, lines.Err())
	require.NoError(t, <-g.ended)
}

// There are so many streams and no more; one that its client leaves makes
// room.
func TestWatchers(t *testing.T) {
	g := grow(t, server.Options{Watchers: 2, Beat: time.Millisecond})
	c, leave := context.WithCancel(ctx)
	defer leave()
	for _, c := range []context.Context{ctx, c} {
		change(t, bufio.NewScanner(g.events(c, "a.b2nd").Body))
	}
	res := g.events(ctx, "a.b2nd")
	require.Equal(t, 503, res.StatusCode)
	require.NotEmpty(t, res.Header.Get("Retry-After"))
	leave()
	for res = g.events(ctx, "a.b2nd"); res.StatusCode == 503; res = g.events(ctx, "a.b2nd") {
	}
	require.Equal(t, 200, res.StatusCode)
	lines := bufio.NewScanner(res.Body)
	change(t, lines)
	g.add()
	require.Equal(t, []int64{1, 4}, change(t, lines).Shape)
}

// A container that is damaged while it is followed: the stream says so, and
// ends.
func TestEventsFail(t *testing.T) {
	g := grow(t, server.Options{})
	dir := t.TempDir()
	name := filepath.Join(dir, "b.b2nd")
	fs, err := file.OpenFS(dir)
	require.NoError(t, err)
	defer fs.Close()
	a, err := blosc2.CreateArray(ctx, fs, "b.b2nd", blosc2.Shape{Shape: []int64{4}, DType: "<i4"}, blosc2.Spec{}, blosc2.Options{})
	require.NoError(t, err)
	require.NoError(t, a.Close())
	g.running = run(t, server.New(memory(nil), server.Options{Files: fs}), server.Limits{})
	lines := bufio.NewScanner(g.events(ctx, "b.b2nd").Body)
	change(t, lines)
	require.NoError(t, os.WriteFile(name+".new", []byte("nothing of the kind"), 0o666))
	require.NoError(t, os.Rename(name+".new", name))
	// Each look fails from now on; a look follows each sign that it changed.
	stop := make(chan bool)
	defer close(stop)
	go func() {
		for {
			select {
			case <-stop:
				return
			default:
				now := time.Now()
				_ = os.Chtimes(name, now, now)
			}
		}
	}()
	require.Contains(t, next(t, lines, "failure"), "b.b2nd")
	for lines.Scan() {
	}
	require.NoError(t, lines.Err())
}
