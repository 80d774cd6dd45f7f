//go:build wasip1

package main

import (
	"runtime"
	"runtime/debug"
	"time"
	"unsafe"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/wasm/guest/internal/engine"
	"github.com/gridhold/gridhold/wasm/wire"
)

// guest lies on the heap, so its address, and with it the mailbox's, is
// fixed.
var guest = start()

func start() *engine.Engine {
	// A runaway recursion ends at 8 MiB instead of at the memory's cap.
	debug.SetMaxStack(8 << 20)
	// Reads make little garbage: the smallest heap may grow to 12 MiB before
	// it is collected. The memory's cap still holds, see SetMemory.
	debug.SetGCPercent(300)
	checkRunnable()
	e := engine.New(imports{})
	b := &e.Box
	b.Size = uint32(unsafe.Sizeof(*b))
	b.DonePtr, b.CQPtr, b.ReqPtr = address(&e.Done), address(&e.CQ), address(&e.Request)
	return e
}

//go:wasmexport gh_abi
func ghABI() uint32 { return guest.Box.ABI }

//go:wasmexport gh_mailbox
func ghMailbox() uint32 { return address(&guest.Box) }

//go:wasmexport gh_configure
func ghConfigure(req, n uint32) int32 {
	b, ok := window(req, n)
	if !ok {
		return int32(fault.CodeInvalid)
	}
	return guest.Configure(b)
}

//go:wasmexport gh_alloc
func ghAlloc(n uint32) uint32 { return slice(guest.Alloc(n)) }

//go:wasmexport gh_free
func ghFree(ptr uint32) { guest.Free(ptr) }

//go:wasmexport gh_start
func ghStart(kind, req, n uint32) int32 {
	b, ok := window(req, n)
	if !ok {
		return int32(fault.CodeInvalid)
	}
	return guest.Start(kind, b)
}

//go:wasmexport gh_run
func ghRun(completions, budgetUS uint32) uint32 {
	return guest.Run(completions, time.Duration(budgetUS)*time.Microsecond)
}

//go:wasmexport gh_call
func ghCall(kind, req, n uint32) int32 {
	guest.Box.Status, guest.Box.Result, guest.Box.Done = wire.Idle, 0, 0
	b, ok := window(req, n)
	if !ok {
		return int32(fault.CodeInvalid)
	}
	op, result := guest.Call(kind, b)
	guest.Box.Result = address(result)
	return op
}

//go:wasmexport gh_cancel
func ghCancel(op uint32) int32 { return guest.Cancel(op) }

//go:wasmexport gh_result
func ghResult(op uint32) uint32 { return address(guest.Ended(op)) }

//go:wasmexport gh_drop
func ghDrop(op uint32) { guest.Drop(op) }

//go:wasmexport gh_gc
func ghGC() { runtime.GC() }

// window is memory that the host names; ok is false where it does not lie in
// the guest's memory.
func window(ptr, n uint32) (b []byte, ok bool) {
	if n == 0 {
		return nil, true
	}
	if ptr == 0 || uint64(ptr)+uint64(n) > uint64(memorySize())<<16 {
		return nil, false
	}
	return unsafe.Slice((*byte)(unsafe.Add(nil, ptr)), n), true
}

func address[T any](p *T) uint32 { return uint32(uintptr(unsafe.Pointer(p))) }

// slice is the address of b, 0 for an empty one.
func slice(b []byte) uint32 {
	if len(b) == 0 {
		return 0
	}
	return address(unsafe.SliceData(b))
}
