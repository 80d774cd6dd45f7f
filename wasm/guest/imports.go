//go:build wasip1

package main

import (
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"unsafe"

	"github.com/gridhold/gridhold/wasm/guest/internal/engine"
)

//go:wasmimport gridhold read_ranges
func hostReadRanges(token, req, info uint32) int32

//go:wasmimport gridhold list
func hostList(token, req, info uint32) int32

//go:wasmimport gridhold fetch
func hostFetch(token, req, info uint32) int32

//go:wasmimport gridhold sleep
func hostSleep(token, ms uint32) int32

//go:wasmimport gridhold codec_open
func hostCodecOpen(token, cfg, cfgLen, info uint32) int32

//go:wasmimport gridhold codec
func hostCodec(token, id, op, src, srcLen, dst, dstLen uint32) int32

//go:wasmimport gridhold cancel
func hostCancel(token uint32) int32

//go:wasmimport gridhold tick
func hostTick(op uint32) int32

//go:wasmimport gridhold error_detail
func hostErrorDetail(token, ptr, cap uint32) int32

//go:wasmimport gridhold log
func hostLog(level, ptr, n uint32)

// imports is the engine's host. What it hands out by address belongs to a
// call that lies on the heap and stays there until its token has ended.
type imports struct{}

func (imports) ReadRanges(token uint32, c *engine.ReadCall) int32 {
	for i, b := range c.Bufs {
		c.Ranges[i].Buf = slice(b)
	}
	w := &c.Wire
	w.Store, w.Flags = c.Store, c.Flags
	w.Key, w.KeyLen = slice(c.Key), uint32(len(c.Key))
	w.Ver, w.VerLen = slice(c.Want), uint32(len(c.Want))
	w.Ranges, w.N = address(unsafe.SliceData(c.Ranges)), uint32(len(c.Ranges))
	return hostReadRanges(token, address(w), address(&c.Info))
}

func (imports) List(token uint32, c *engine.ListCall) int32 {
	w := &c.Wire
	w.Store = c.Store
	w.Prefix, w.PrefixLen = slice(c.Prefix), uint32(len(c.Prefix))
	w.Buf, w.Cap = slice(c.Buf), uint32(len(c.Buf))
	return hostList(token, address(w), address(&c.Info))
}

func (imports) Fetch(token uint32, c *engine.FetchCall) int32 {
	w := &c.Wire
	w.Method, w.MethodLen = slice(c.Method), uint32(len(c.Method))
	w.URL, w.URLLen = slice(c.URL), uint32(len(c.URL))
	w.Header, w.HeaderLen = slice(c.Header), uint32(len(c.Header))
	w.Body, w.BodyCap = slice(c.Body), uint32(len(c.Body))
	w.Answer, w.AnswerCap = slice(c.Answer), uint32(len(c.Answer))
	return hostFetch(token, address(w), address(&c.Info))
}

func (imports) Sleep(token, ms uint32) int32 { return hostSleep(token, ms) }

func (imports) CodecOpen(token uint32, c *engine.CodecOpenCall) int32 {
	return hostCodecOpen(token, slice(c.Config), uint32(len(c.Config)), address(&c.Info))
}

func (imports) Codec(token uint32, c *engine.CodecCall) int32 {
	return hostCodec(token, c.ID, c.Op, slice(c.Src), uint32(len(c.Src)), slice(c.Dst), uint32(len(c.Dst)))
}

func (imports) Cancel(token uint32) int32 { return hostCancel(token) }

func (imports) Tick(op uint32) int32 { return hostTick(op) }

func (imports) ErrorDetail(token uint32, into []byte) int32 {
	return hostErrorDetail(token, slice(into), uint32(len(into)))
}

func (imports) Log(level uint32, text string) {
	b := []byte(text)
	keep = b // on the heap while the host reads it
	hostLog(level, slice(b), uint32(len(b)))
	keep = nil
}

var keep []byte

func (imports) Address(b []byte) uint32 { return slice(b) }

// SetMemory makes the collector work harder from 70 % of the cap on: a
// memory that cannot grow any more is the end of the instance.
func (imports) SetMemory(n int64) { debug.SetMemoryLimit(n / 10 * 7) }

var runnable = struct {
	sync.Mutex
	sample []metrics.Sample
}{sample: []metrics.Sample{{Name: "/sched/goroutines/runnable:goroutines"}}}

func (imports) Runnable() uint64 {
	runnable.Lock()
	defer runnable.Unlock()
	metrics.Read(runnable.sample)
	return runnable.sample[0].Value.Uint64()
}

// checkRunnable fails at the start where the runtime has no such count: the
// run loop cannot do without.
func checkRunnable() {
	metrics.Read(runnable.sample)
	if runnable.sample[0].Value.Kind() != metrics.KindUint64 {
		panic("the runtime does not count runnable goroutines")
	}
}

// memorySize returns the size of the memory in pages of 64 KiB.
func memorySize() uint32 { return uint32(pages()) }

// pages is the instruction memory.size.
func pages() int32
