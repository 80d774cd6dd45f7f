package engine

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"math/rand/v2"
	"runtime/metrics"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/codec"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/wasm/wire"
)

// fake is a host in the same process. At once, or later and in random order,
// it answers from Go stores.
type fake struct {
	t      *testing.T
	stores map[uint32]storage.Store
	http   storage.Fetcher
	files  fakeFiles
	lend   bool
	least  uint32 // min_len of codecs

	mu      sync.Mutex
	later   bool // answer PENDING
	busy    bool // say BUSY to cancel
	tired   bool // tick says stop
	queue   []job
	calls   map[string]int
	details map[uint32]fault.Detail
	codecs  []codec.Bytes
	damage  func(c *ReadCall, n int32) int32 // breaks the contract
	random  *rand.Rand
}

type job struct {
	token uint32
	do    func() int32
}

func newFake(t *testing.T) *fake {
	return &fake{
		t: t, stores: map[uint32]storage.Store{}, calls: map[string]int{}, details: map[uint32]fault.Detail{},
		random: rand.New(rand.NewPCG(1, 2)),
		files:  fakeFiles{systems: map[uint32]storage.FS{}, open: map[uint32]storage.File{}, ranges: map[[2]int64]func() error{}, locks: map[uint32]func() error{}, locker: storage.NewMemoryLocker()},
	}
}

// answer does a call now, or puts it in the queue.
func (f *fake) answer(name string, token uint32, do func() (int32, error)) int32 {
	all := func() int32 {
		n, err := do()
		if err != nil {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.details[token] = fault.DetailOf(err)
			return int32(fault.CodeOf(err))
		}
		return n
	}
	f.mu.Lock()
	f.calls[name]++
	later := f.later
	if later {
		f.queue = append(f.queue, job{token, all})
	}
	f.mu.Unlock()
	if later {
		return wire.Pending
	}
	return all()
}

func (f *fake) ReadRanges(token uint32, c *ReadCall) int32 {
	return f.answer("read_ranges", token, func() (int32, error) {
		st := f.stores[c.Store]
		if st == nil {
			return 0, fault.New(fault.ErrInvalid, "store", "", "there is none")
		}
		rs := make([]storage.Range, len(c.Ranges))
		for i, r := range c.Ranges {
			rs[i] = storage.Range{Off: r.Off, Len: r.Len}
		}
		bs, info, err := st.ReadRanges(context.Background(), string(c.Key), rs, storage.Version(c.Want))
		if err != nil {
			return 0, err
		}
		for i, b := range bs {
			if len(b) > len(c.Bufs[i]) {
				c.Info.Need = int64(len(b))
				return int32(fault.CodeTooSmall), nil
			}
			c.Ranges[i].N = int32(copy(c.Bufs[i], b))
		}
		c.Info.Size = info.Size
		c.Info.VerLen = uint32(copy(c.Info.Ver[:], info.Version))
		n := int32(len(bs))
		if f.damage != nil {
			n = f.damage(c, n)
		}
		return n, nil
	})
}

func (f *fake) List(token uint32, c *ListCall) int32 {
	return f.answer("list", token, func() (int32, error) {
		names, err := f.stores[c.Store].(storage.Lister).List(context.Background(), string(c.Prefix))
		if err != nil {
			return 0, err
		}
		var b []byte
		for _, n := range names {
			b = append(binary.LittleEndian.AppendUint32(b, uint32(len(n))), n...)
		}
		if len(b) > len(c.Buf) {
			c.Info.Need = int64(len(b))
			return int32(fault.CodeTooSmall), nil
		}
		return int32(copy(c.Buf, b)), nil
	})
}

func (f *fake) Fetch(token uint32, c *FetchCall) int32 {
	return f.answer("fetch", token, func() (int32, error) {
		resp, err := f.http.Fetch(context.Background(), storage.Request{
			Method: string(c.Method), URL: string(c.URL), Header: fields(string(c.Header)), Limit: int64(len(c.Body)),
		})
		if err != nil {
			return 0, err
		}
		var head []byte
		for _, h := range resp.Header {
			head = append(head, h.Name+": "+h.Value+"\r\n"...)
		}
		c.Wire.Status, c.Wire.AnswerLen = uint32(resp.Status), uint32(copy(c.Answer, head))
		if resp.Truncated {
			c.Wire.Flags = wire.FetchCut
		}
		return int32(copy(c.Body, resp.Body)), nil
	})
}

func (f *fake) Sleep(token, _ uint32) int32 {
	return f.answer("sleep", token, func() (int32, error) { return 0, nil })
}

func (f *fake) CodecOpen(token uint32, c *CodecOpenCall) int32 {
	return f.answer("codec_open", token, func() (int32, error) {
		var named struct {
			Name          string          `json:"name"`
			Configuration json.RawMessage `json:"configuration"`
		}
		if err := json.Unmarshal(c.Config, &named); err != nil || !f.lend {
			return int32(fault.CodeUnsupported), nil
		}
		made, err := codec.New(named.Name, named.Configuration)
		if err != nil {
			return 0, err
		}
		f.codecs = append(f.codecs, made)
		c.Info.ID, c.Info.MinLen = uint32(len(f.codecs)), f.least
		return 0, nil
	})
}

func (f *fake) Codec(token uint32, c *CodecCall) int32 {
	return f.answer("codec", token, func() (int32, error) {
		out, err := f.codecs[c.ID-1].Decode(context.Background(), nil, c.Src, len(c.Dst))
		return int32(copy(c.Dst, out)), err
	})
}

func (f *fake) Cancel(token uint32) int32 {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls["cancel"]++
	if f.busy {
		return wire.Busy
	}
	for i, j := range f.queue {
		if j.token == token {
			f.queue = append(f.queue[:i], f.queue[i+1:]...)
			return wire.Released
		}
	}
	f.t.Errorf("cancel of token %#x, which is not out", token)
	return wire.Released
}

func (f *fake) Tick(uint32) int32 {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls["tick"]++
	if f.tired {
		return 1
	}
	return 0
}

func (f *fake) ErrorDetail(token uint32, into []byte) int32 {
	f.mu.Lock()
	defer f.mu.Unlock()
	d, ok := f.details[token]
	if !ok {
		return 0
	}
	delete(f.details, token)
	b, _ := json.Marshal(d)
	return int32(copy(into, b))
}

func (f *fake) Log(_ uint32, text string) { f.t.Log(text) }

func (f *fake) Address(b []byte) uint32 { return uint32(min(len(b), 1)) }

func (f *fake) SetMemory(int64) {}

func (f *fake) Runnable() uint64 {
	s := []metrics.Sample{{Name: "/sched/goroutines/runnable:goroutines"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// answerSome writes completions for up to n jobs, chosen at random.
func (f *fake) answerSome(e *Engine, n int) uint32 {
	f.mu.Lock()
	f.random.Shuffle(len(f.queue), func(i, j int) { f.queue[i], f.queue[j] = f.queue[j], f.queue[i] })
	n = min(n, len(f.queue))
	jobs := f.queue[:n:n]
	f.queue = append([]job(nil), f.queue[n:]...)
	f.mu.Unlock()
	for i, j := range jobs {
		e.CQ[i] = wire.Completion{Token: j.token, N: j.do()}
	}
	return uint32(n)
}

// settle runs the engine until all ops have ended, answering up to n jobs
// between runs.
func (f *fake) settle(e *Engine, n int, ops ...int32) {
	f.t.Helper()
	var k uint32
	for range 1_000_000 {
		status := e.Run(k, 0)
		require.Contains(f.t, []uint32{wire.Idle, wire.More, wire.Stalled}, status)
		all := true
		for _, op := range ops {
			all = all && e.Ended(uint32(op)) != nil
		}
		if all {
			return
		}
		k = f.answerSome(e, n)
	}
	f.t.Fatal("operations never end")
}

// call carries out one operation, keeps a copy of its result and drops it.
func (f *fake) call(e *Engine, kind uint32, req []byte) (wire.Result, []byte, error) {
	f.t.Helper()
	op := e.Start(kind, req)
	if op < 0 {
		return wire.Result{}, nil, fault.Of(fault.Code(op))
	}
	f.settle(e, 1, op)
	return f.take(e, op)
}

func (f *fake) take(e *Engine, id int32) (wire.Result, []byte, error) {
	f.t.Helper()
	op, ok := e.ops.Get(uint32(id))
	require.True(f.t, ok)
	r := *e.Ended(uint32(id))
	b := append([]byte(nil), op.bytes...)
	var err error
	if r.State != wire.OK {
		var d fault.Detail
		require.NoError(f.t, json.Unmarshal(op.detail, &d))
		require.Equal(f.t, r.Code, int32(d.Code))
		err = d.Err()
	}
	e.Drop(uint32(id))
	return r, b, err
}

// until waits for what another goroutine is about to do.
func until(t *testing.T, what func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !what(); {
		require.True(t, time.Now().Before(deadline), "it never happens")
		yield()
	}
}
