// Package engine is the guest of docs/abi.md without its skin: operations,
// tokens, handles and the run loop, over a Host that stands for the imports.
// The skin, package main above it, lowers calls to addresses; so everything
// here runs and is tested natively too.
//
// One goroutine at a time runs in a wasm instance, but an allocation may
// switch goroutines anywhere. So shared state is locked as it is natively.
package engine

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/rawjson"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
	"github.com/gridhold/gridhold/wasm/guest/internal/slots"
	"github.com/gridhold/gridhold/wasm/wire"
)

// Host is the imports, and what the engine needs of the runtime that it
// lives in. The buffers of a call belong to its token: a host may use them
// until it has answered, completed the token, or said Released to Cancel.
type Host interface {
	Files
	ReadRanges(token uint32, c *ReadCall) int32
	List(token uint32, c *ListCall) int32
	Fetch(token uint32, c *FetchCall) int32
	Sleep(token uint32, ms uint32) int32
	CodecOpen(token uint32, c *CodecOpenCall) int32
	Codec(token uint32, c *CodecCall) int32
	Cancel(token uint32) int32
	Tick(op uint32) int32
	ErrorDetail(token uint32, into []byte) int32
	Log(level uint32, text string)

	// Address returns where b lies, 0 for an empty b.
	Address(b []byte) uint32
	// Runnable returns how many goroutines could run but do not.
	Runnable() uint64
	// SetMemory tells the runtime the cap of its memory in bytes.
	SetMemory(n int64)
}

// Levels of Host.Log.
const (
	LogWarn  = 1
	LogError = 2
)

const (
	doneCap    = 256
	cqCap      = 1024
	requestCap = 64 << 10

	// defaultMemory is assumed until Configure says otherwise.
	defaultMemory = 512 << 20
)

// Engine is one guest. Make it with New.
type Engine struct {
	// Box, Done, CQ and Request are read and written by the host between
	// calls. Engine fills in everything of Box but the addresses.
	Box     wire.Mailbox
	Done    [doneCap]uint32
	CQ      [cqCap]wire.Completion
	Request [requestCap]byte

	host    Host
	memory  int64 // cap of the instance's memory
	atOnce  bool  // no import is ever PENDING
	running atomic.Bool
	timed   atomic.Bool // the run in progress has a budget

	ops     slots.Table[*Operation]
	handles slots.Table[*object]
	tokens  tokens
	live    atomic.Int64
	panics  atomic.Uint32
	gate    gate
	lent    lender
	servers storage.Servers // what those of HTTP take

	mu       sync.Mutex // guards what follows
	ended    []uint32   // operations that no run has listed yet
	marked   []uint32   // operations to cancel in the next run
	idle     []*worker
	files    *storage.MemoryFS  // of containers in memory; nil until one is made
	made     map[string]*object // the containers in it, by name
	blocks   map[uint32][]byte  // of Alloc, by address
	blockSum int64
}

// New makes an engine.
func New(h Host) *Engine {
	e := &Engine{host: h, blocks: map[uint32][]byte{}}
	e.handles.Retire = true
	e.lent.engine = e
	e.setMemory(defaultMemory)
	e.Box.ABI = wire.Major<<16 | wire.Minor
	e.Box.DoneCap, e.Box.CQCap, e.Box.ReqCap = doneCap, cqCap, requestCap
	return e
}

// Configure is gh_configure.
func (e *Engine) Configure(req []byte) int32 {
	c := rawjson.MembersOf(req)
	memory, atOnce := c.Int("memory", 0, 4<<30, 0), c.Bool("at_once")
	if c.Err() != nil {
		return int32(fault.CodeInvalid)
	}
	if memory > 0 {
		e.setMemory(memory)
		e.host.SetMemory(memory)
	}
	e.atOnce = atOnce
	return 0
}

func (e *Engine) setMemory(n int64) {
	e.memory = n
	e.gate.limit = n * 6 / 10
}

// limits are what one index and one chunk may take: decoding a chunk needs
// it encoded, decoded and in between.
func (e *Engine) limits() zarr.Limits {
	return zarr.Limits{Index: e.memory / 8, Chunk: e.memory / 4}
}

func (e *Engine) options() zarr.Options {
	return zarr.Options{Limits: e.limits(), Codecs: &e.lent, Tick: e.tick}
}

// tick asks the host whether to go on, and lets others run if there are any.
func (e *Engine) tick(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var id uint32
	op := operationOf(ctx)
	if op != nil {
		id = op.id
	}
	if e.host.Tick(id) != 0 {
		if op != nil {
			op.cancel()
		}
		return context.Canceled
	}
	if e.timed.Load() || e.live.Load() > 1 {
		yield()
	}
	return nil
}

// Alloc is gh_alloc: n bytes that stay where they are until Free, or nil
// over the limit.
func (e *Engine) Alloc(n uint32) []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	if n == 0 || e.blockSum+int64(n) > e.memory/4 {
		return nil
	}
	b := make([]byte, n)
	e.blocks[e.host.Address(b)] = b
	e.blockSum += int64(n)
	return b
}

// Free is gh_free. An address that Alloc did not give is ignored.
func (e *Engine) Free(address uint32) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.blockSum -= int64(len(e.blocks[address]))
	delete(e.blocks, address)
}
