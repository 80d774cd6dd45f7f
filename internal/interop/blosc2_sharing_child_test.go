package interop

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

func init() { children["sharing"] = serveSharing }

// task is what a process that works on a container is asked; see
// peers/with_sharing.py, which takes the same.
type task struct {
	Do        string            `json:"do"`
	Path      string            `json:"path,omitempty"`
	Mode      string            `json:"mode,omitempty"`
	Kind      string            `json:"kind,omitempty"`
	Locking   *bool             `json:"locking,omitempty"`
	Shape     []int64           `json:"shape,omitempty"`
	Chunks    []int64           `json:"chunks,omitempty"`
	ChunkSize int               `json:"chunksize,omitempty"`
	Meta      map[string]string `json:"meta,omitempty"`
	Count     *int              `json:"count,omitempty"`
	Size      *int              `json:"size,omitempty"`
	Tag       *int              `json:"tag,omitempty"`
	Until     *int64            `json:"until,omitempty"`
	Hold      *bool             `json:"hold,omitempty"`
	Remove    *bool             `json:"remove,omitempty"`
	Name      string            `json:"name,omitempty"`
	Key       string            `json:"key,omitempty"`
	Index     *int64            `json:"index,omitempty"`
	Value     any               `json:"value,omitempty"`
	Threshold *int64            `json:"threshold,omitempty"`
	Names     []string          `json:"names,omitempty"`
	Steps     []step            `json:"steps,omitempty"`
}

// report is what it answers.
type report struct {
	Refused string   `json:"refused"`
	N       int      `json:"n"`
	Bad     int      `json:"bad"`
	Errors  int      `json:"errors"`
	Missing int      `json:"missing"`
	Text    string   `json:"text"`
	Changed bool     `json:"changed"`
	Data    []byte   `json:"data"`
	Names   []string `json:"names"`
}

// worker works on one container.
type worker struct {
	ctx  context.Context
	c    blosc2.Container
	end  func() error
	hold blosc2.Container
	leaf *blosc2.NDArray
}

func serveSharing(string) {
	w := &worker{ctx: context.Background()}
	out := json.NewEncoder(os.Stdout)
	for line := range lines(os.Stdin) {
		var q task
		err := json.Unmarshal(line, &q)
		var a report
		if err == nil {
			a, err = w.do(&q)
		}
		if err != nil {
			a.Refused = err.Error()
		}
		if out.Encode(a) != nil {
			return
		}
	}
}

// lines gives what comes from whoever started this process. When that ends,
// so does the process, whatever it is at.
func lines(r io.Reader) <-chan []byte {
	c := make(chan []byte)
	go func() {
		in := bufio.NewScanner(r)
		in.Buffer(nil, 1<<24)
		for in.Scan() {
			c <- bytes.Clone(in.Bytes())
		}
		os.Exit(0)
	}()
	return c
}

func or[T any](p *T, zero T) T {
	if p == nil {
		return zero
	}
	return *p
}

func words(values ...int64) []byte {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, uint64(v))
	}
	return b
}

func word(b []byte, i int) int64 { return int64(binary.LittleEndian.Uint64(b[8*i:])) }

func equalWords(n int, v int64) []byte { return words(slices.Repeat([]int64{v}, n)...) }

func counted(from, to int64) []byte {
	var b []byte
	for v := from; v < to; v++ {
		b = append(b, words(v)...)
	}
	return b
}

func uniform(b []byte) bool {
	for i := range len(b) / 8 {
		if word(b, i) != word(b, 0) {
			return false
		}
	}
	return true
}

var quick = blosc.Params{Codec: blosc.LZ4, Level: 1, TypeSize: 8, Filters: []blosc.Filter{5: {ID: blosc.Shuffle}}}

func (q *task) place() (storage.FS, string, blosc2.Options, error) {
	fs, err := file.OpenFS(filepath.Dir(q.Path))
	o := blosc2.Options{Write: q.Mode != "r", Durability: blosc2.SyncNever}
	if or(q.Locking, true) {
		o.Locking = blosc2.Locked
	}
	return fs, filepath.Base(q.Path), o, err
}

// frame is what holds chunks and metadata.
func (w *worker) frame() *blosc2.SChunk {
	switch c := w.now().(type) {
	case *blosc2.NDArray:
		return c.SChunk()
	case *blosc2.SChunk:
		return c
	}
	return nil
}

func (w *worker) now() blosc2.Container {
	if w.hold != nil {
		return w.hold
	}
	return w.c
}

func (w *worker) array() *blosc2.NDArray { return w.now().(*blosc2.NDArray) }

// times calls do as often as asked for.
func (q *task) times(do func(i int) error) (report, error) {
	for i := range or(q.Count, 1) {
		if err := do(i); err != nil {
			return report{N: i}, err
		}
	}
	return report{N: or(q.Count, 1)}, nil
}

func (w *worker) do(q *task) (a report, err error) {
	ctx := w.ctx
	size := or(q.Size, 0)
	value := int64(0)
	if v, ok := q.Value.(float64); ok {
		value = int64(v)
	}
	switch q.Do {
	case "open", "create_array", "create_schunk", "store":
		return a, w.open(q)
	case "close":
		return a, w.c.Close()
	case "append":
		return q.times(func(i int) error {
			batch := equalWords(size, int64(or(q.Tag, 0))*1000000+int64(i))
			add := func(ctx context.Context, a *blosc2.NDArray) error { return a.Append(ctx, 0, batch) }
			if or(q.Hold, true) {
				return w.array().HoldingLock(ctx, add)
			}
			return add(ctx, w.array())
		})
	case "increment":
		return q.times(func(int) error { return w.increment() })
	case "insist": // until each increment has gone well
		errs := 0
		a, err := q.times(func(int) error {
			for {
				err := w.increment()
				if !errors.Is(err, fault.ErrStale) {
					return err
				}
				errs++
			}
		})
		a.Errors = errs
		return a, err
	case "assign":
		return q.times(func(i int) error {
			n := w.array().Shape().Shape[0]
			return w.array().SetSlice(ctx, nil, equalWords(int(n), int64(or(q.Tag, 0)+i+1)))
		})
	case "grow":
		return q.times(func(int) error {
			n := w.array().Shape().Shape[0]
			return w.array().Append(ctx, 0, counted(n, n+int64(size)))
		})
	case "settled":
		return w.settled(q)
	case "whole":
		return q.times(func(int) error {
			b, err := w.array().Slice(ctx, nil, nil)
			if err == nil && !uniform(b) {
				err = errors.New("items of two states")
			}
			return err
		})
	case "items":
		a.Data, err = w.array().Slice(ctx, nil, nil)
	case "chunks":
		return q.times(func(i int) error {
			return w.frame().AppendChunk(ctx, equalWords(size, int64(or(q.Tag, 0))*1000000+int64(i)))
		})
	case "vlset":
		return q.times(func(i int) error { return w.frame().SetVLObject(ctx, q.Name, int64(i)) })
	case "vlget":
		v, err := w.frame().VLObject(ctx, q.Name)
		n, _ := v.(int64)
		return report{N: int(n)}, err
	case "meta":
		text := q.Value.(string)
		return a, w.frame().SetMetalayer(ctx, q.Name, append([]byte{0xa0 | byte(len(text))}, text...))
	case "update":
		return a, w.frame().UpdateChunk(ctx, or(q.Index, 0), equalWords(size, value))
	case "stored":
		if _, err = w.frame().Refresh(ctx); err != nil {
			return a, err
		}
		for b, e := range w.frame().Chunks(ctx) {
			if err = e; err != nil {
				break
			}
			a.Data = append(a.Data, b[:8]...)
		}
	case "repair":
		return a, w.frame().Repair(ctx)
	case "repair_file":
		fs, name, o, err := q.place()
		if err != nil {
			return a, err
		}
		r, err := blosc2.Repair(ctx, fs, name, o)
		return report{N: int(r.Chunks), Changed: r.Written}, err
	case "forever":
		return a, w.forever(q)
	case "pack":
		fs, name, _, err := q.place()
		if err == nil {
			err = w.now().(*blosc2.DictStore).ToB2Z(ctx, fs, name, true)
		}
		return a, err
	case "start": // a process that ends when this one does
		cmd := exec.Command("cat")
		if _, err := cmd.StdinPipe(); err != nil {
			return a, err
		}
		return a, cmd.Start()
	case "hold":
		w.hold, w.end, err = blosc2.Hold(ctx, w.c, storage.LockExclusive)
	case "release":
		w.hold = nil
		return a, w.end()
	case "refresh":
		a.Changed, err = w.frame().Refresh(ctx)
		a.N = int(w.frame().NumChunks())
	case "leaf":
		a.Data, err = w.leaf.Slice(ctx, nil, nil)
	case "steps":
		return a, w.steps(q.Steps)
	case "survey":
		return w.survey(q)
	case "verify":
		return w.verify()
	case "put", "drop", "swap", "keys", "values", "get":
		return w.keyed(q, value)
	default:
		err = errors.New("no such task: " + q.Do)
	}
	return a, err
}

// increment counts the first item up, within the lock.
func (w *worker) increment() error {
	return w.array().HoldingLock(w.ctx, func(ctx context.Context, held *blosc2.NDArray) error {
		first := []blosc2.Span{{Start: 0, Stop: 1}}
		b, err := held.Slice(ctx, first, nil)
		if err != nil {
			return err
		}
		return held.SetSlice(ctx, first, words(word(b, 0)+1))
	})
}

func (w *worker) open(q *task) (err error) {
	fs, name, o, err := q.place()
	if err != nil {
		return err
	}
	spec := blosc2.Spec{Params: quick, ChunkSize: q.ChunkSize, Replace: true}
	for k, v := range q.Meta {
		spec.Meta = append(spec.Meta, blosc2.Metalayer{Name: k, Value: append([]byte{0xa0 | byte(len(v))}, v...)})
	}
	switch {
	case q.Do == "create_array":
		w.c, err = blosc2.CreateArray(w.ctx, fs, name, blosc2.Shape{Shape: q.Shape, Chunks: q.Chunks, Blocks: q.Chunks, DType: "<i8"}, spec, o)
	case q.Do == "create_schunk":
		w.c, err = blosc2.CreateSChunk(w.ctx, fs, name, spec, o)
	case q.Do == "store" && q.Mode == "w" && q.Kind == "embed":
		w.c, err = blosc2.CreateEmbedStore(w.ctx, fs, name, o)
	case q.Do == "store" && q.Mode == "w":
		w.c, err = blosc2.CreateStore(w.ctx, fs, name, blosc2.StoreSpec{Tree: q.Kind == "tree", Threshold: or(q.Threshold, 0)}, o)
	default:
		w.c, err = blosc2.Open(w.ctx, fs, name, o)
	}
	return err
}

// forever works until it is killed, and says after each commit what it was.
func (w *worker) forever(q *task) error {
	out := json.NewEncoder(os.Stdout)
	size := or(q.Size, 1000)
	for i := 0; ; i++ {
		n := or(q.Tag, 0)*1000000 + i
		var err error
		switch q.Kind {
		case "append":
			err = w.frame().AppendChunk(w.ctx, equalWords(size, int64(n)))
		case "held":
			err = w.frame().HoldingLock(w.ctx, func(ctx context.Context, held *blosc2.SChunk) error {
				return held.AppendChunk(ctx, equalWords(size, int64(n)))
			})
		case "update":
			err = w.frame().UpdateChunk(w.ctx, int64(i%4), equalWords(size, int64(n)))
		case "compact":
			if err = w.frame().UpdateChunk(w.ctx, int64(i%4), equalWords(size, int64(n))); err == nil {
				err = w.frame().Compact(w.ctx)
			}
		case "vlmeta":
			err = w.frame().SetVLObject(w.ctx, "k", int64(n))
		case "increment":
			err = w.increment()
		case "grow":
			end := w.array().Shape().Shape[0]
			err = w.array().Append(w.ctx, 0, counted(end, end+int64(size)))
		case "put": // what all put, and a key of its own
			for _, key := range []string{"/a", "/t" + strconv.Itoa(or(q.Tag, 0))} {
				if err == nil {
					_, err = w.keyed(&task{Do: "put", Key: key, Size: &size}, int64(i))
				}
			}
		case "course":
			if i == 0 { // which removes what those who were killed left
				if _, err := w.now().(getter).Keys(w.ctx); err != nil {
					return err
				}
			}
			err = w.steps([]step{course{q.Name, *q.Tag}.step(i)})
		case "read":
			var b []byte
			b, err = w.array().Slice(w.ctx, nil, nil)
			if err == nil && !uniform(b) {
				err = errors.New("items of two states")
			}
			if i > 0 && err == nil {
				continue
			}
		}
		if err != nil {
			return err
		}
		if err := out.Encode(report{N: n}); err != nil {
			return err
		}
	}
}

// settled reads slices of what had been there before the last growth.
func (w *worker) settled(q *task) (a report, err error) {
	size, end := int64(or(q.Size, 0)), int64(0)
	for a.N < or(q.Count, 1) || w.array().Shape().Shape[0] < or(q.Until, 0) {
		a.N++
		if _, err := w.array().Refresh(w.ctx); err != nil {
			a.Errors, a.Text = a.Errors+1, err.Error()
			continue
		}
		now := w.array().Shape().Shape[0]
		if !or(q.Hold, false) {
			now -= size
		} else if now%size != 0 {
			a.Bad++
		}
		if end = max(end, now); end <= 0 {
			continue
		}
		i := rand.Int64N(end)
		j := min(i+50, end)
		b, err := w.array().Slice(w.ctx, []blosc2.Span{{Start: i, Stop: j}}, nil)
		if err != nil {
			a.Errors, a.Text = a.Errors+1, err.Error()
		} else if string(b) != string(counted(i, j)) {
			a.Bad++
		}
	}
	return a, nil
}

// keyed works on a store.
func (w *worker) keyed(q *task, value int64) (a report, err error) {
	type store interface {
		Put(ctx context.Context, key string, c blosc2.Container) error
		Get(ctx context.Context, key string) (blosc2.Container, error)
		Keys(ctx context.Context) ([]string, error)
	}
	s := w.now().(store)
	remove := func() error {
		switch c := s.(type) {
		case *blosc2.TreeStore:
			return c.DictStore().Delete(w.ctx, q.Key)
		case *blosc2.DictStore:
			return c.Delete(w.ctx, q.Key)
		}
		return s.(*blosc2.EmbedStore).Delete(w.ctx, q.Key)
	}
	put := func(value int64) error {
		n := int64(or(q.Size, 0))
		fs := storage.NewMemoryFS(0)
		chunk := max(n/8, 1)
		leaf, err := blosc2.CreateArray(w.ctx, fs, "leaf", blosc2.Shape{Shape: []int64{n}, Chunks: []int64{chunk}, Blocks: []int64{chunk}, DType: "<i8"}, blosc2.Spec{Params: quick}, blosc2.Options{})
		if err != nil {
			return err
		}
		defer leaf.Close()
		if err := leaf.SetSlice(w.ctx, nil, equalWords(int(n), value)); err != nil {
			return err
		}
		return s.Put(w.ctx, q.Key, leaf)
	}
	switch q.Do {
	case "put":
		return a, put(value)
	case "drop":
		return a, remove()
	case "swap":
		return q.times(func(i int) error {
			if or(q.Remove, false) {
				if err := remove(); err != nil && !errors.Is(err, fault.ErrNotFound) {
					return err
				}
			}
			return put(int64(i))
		})
	case "keys":
		a.Names, err = s.Keys(w.ctx)
		return a, err
	case "get":
		leaf, err := s.Get(w.ctx, q.Key)
		if err == nil {
			w.leaf = leaf.(*blosc2.NDArray)
		}
		return a, err
	}
	for range or(q.Count, 1) {
		a.N++
		leaf, err := s.Get(w.ctx, q.Key)
		var b []byte
		if err == nil {
			b, err = leaf.(*blosc2.NDArray).Slice(w.ctx, nil, nil)
			leaf.Close()
		}
		switch {
		case errors.Is(err, fault.ErrNotFound):
			a.Missing++
		case err != nil:
			a.Errors, a.Text = a.Errors+1, err.Error()
		case !uniform(b):
			a.Bad++
		}
	}
	return a, nil
}
