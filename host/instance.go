package host

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"strconv"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/gridhold/gridhold/host/internal/linear"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/wasm/wire"
)

var random = rand.Reader

// Offsets in gh_mailbox, and the sizes of it and of gh_result.
const (
	boxReqPtr, boxReqCap, boxStatus, boxResult = 44, 48, 52, 56

	boxSize    = 60
	resultSize = 48
)

// maxStalls is how often an instance may say STALLED before it is dead.
const maxStalls = 10

// instance is one running guest. Whoever took its slot owns it.
type instance struct {
	sandbox *Sandbox
	slot    *slot
	serial  uint64
	module  api.Module
	memory  api.Memory
	mailbox uint32
	request uint32 // room for requests in the guest, and how much
	room    uint32
	dead    bool

	call, run, result, drop, alloc, free api.Function
	stack                                [4]uint64

	ctx callContext
	// handles are what was opened on this instance, by what opened it.
	handles map[opener]uint32
	files   openFiles
	cache   *ShardCache      // by which the call in progress reads; nil: none
	waits   bool             // the call in progress met a lock that another holds
	details map[uint32]error // failures by token, until the guest asks
	last    lastRead
	scratch []byte // of the request in the making
}

// callContext is the context of the call in progress, as imports see it. It
// is one value that is used again: a derived context per read costs as much
// as the read.
type callContext struct {
	context.Context
	in    *instance
	spent Call // so far
}

// start makes an instance.
func (s *Sandbox) start(ctx context.Context) (*instance, error) {
	in := &instance{sandbox: s, handles: map[opener]uint32{}, details: map[uint32]error{}}
	in.ctx.in = in
	in.ctx.Context = linear.WithAllocator(ctx)
	m, err := s.runtime.InstantiateModule(&in.ctx, s.module, s.moduleConfig())
	if err != nil {
		return nil, internal("does not start: " + err.Error())
	}
	in.serial, in.module, in.memory = s.serial.Add(1), m, m.Memory()
	in.call, in.run, in.result, in.drop = m.ExportedFunction("gh_call"), m.ExportedFunction("gh_run"), m.ExportedFunction("gh_result"), m.ExportedFunction("gh_drop")
	in.alloc, in.free = m.ExportedFunction("gh_alloc"), m.ExportedFunction("gh_free")
	if err := in.configure(); err != nil {
		in.kill()
		return nil, err
	}
	return in, nil
}

func (in *instance) configure() error {
	abi, err := in.invoke(in.module.ExportedFunction("gh_abi"))
	if err != nil {
		return err
	}
	if major := uint32(abi) >> 16; major != wire.Major {
		return fault.New(fault.ErrUnsupported, "guest", "", "speaks version "+strconv.Itoa(int(major))+" of the ABI, not "+strconv.Itoa(wire.Major))
	}
	box, err := in.invoke(in.module.ExportedFunction("gh_mailbox"))
	if err != nil {
		return err
	}
	in.mailbox = uint32(box)
	b, ok := in.memory.Read(in.mailbox, boxSize)
	if !ok {
		return internal("its mailbox is outside its memory")
	}
	in.request, in.room = u32(b, boxReqPtr), u32(b, boxReqCap)
	req := []byte(`{"memory":` + strconv.FormatInt(in.sandbox.config.Memory, 10) + `,"at_once":true}`)
	if len(req) > int(in.room) || !in.memory.Write(in.request, req) {
		return internal("its request area is outside its memory")
	}
	code, err := in.invoke(in.module.ExportedFunction("gh_configure"), uint64(in.request), uint64(len(req)))
	if err == nil && int32(code) < 0 {
		err = internal("refuses its configuration: " + fault.Code(int32(code)).Name())
	}
	return err
}

// invoke calls an export. An error means that the instance is dead; it is
// marked before anything else, since wazero would answer the next call with
// a value that looks right.
func (in *instance) invoke(f api.Function, args ...uint64) (uint64, error) {
	if in.dead {
		return 0, internal("is dead")
	}
	n := copy(in.stack[:], args)
	clear(in.stack[n:])
	if err := f.CallWithStack(&in.ctx, in.stack[:]); err != nil {
		in.sandbox.config.Log.Error("guest died", "err", err)
		in.die()
		return 0, internal("died")
	}
	return in.stack[0], nil
}

// die is kill for an instance that has failed.
func (in *instance) die() {
	if !in.dead {
		in.sandbox.counters.died.Add(1)
	}
	in.kill()
}

// kill marks the instance dead and frees its memory.
func (in *instance) kill() {
	in.dead = true
	if in.module != nil {
		_ = in.module.Close(context.Background())
	}
	in.module, in.memory = nil, nil
	in.files.close()
	clear(in.handles)
	clear(in.details)
}

// reply is what an operation came to; bytes are the caller's own.
type reply struct {
	kind        uint32
	bytes       []byte
	object      uint32
	off, length int64
}

// do carries out one operation. dst is used for the bytes of the reply where
// it is large enough.
func (in *instance) do(ctx context.Context, kind uint32, req, dst []byte) (r reply, err error) {
	if err := storage.Ended(ctx, ""); err != nil {
		in.cache = nil
		return reply{}, err
	}
	began := time.Now()
	if limit := in.sandbox.config.Limits.Deadline; limit > 0 {
		t := until(ctx, began.Add(limit))
		defer t.end()
		ctx = t
	}
	in.ctx.Context, in.ctx.spent = ctx, Call{}
	defer func() {
		in.ctx.Context, in.cache = context.Background(), nil
		if len(in.details) > 0 {
			clear(in.details)
		}
		c := in.ctx.spent
		c.Took, c.Output, c.Err = time.Since(began), int64(len(r.bytes)), err
		in.sandbox.observe(kind, c)
	}()
	return in.operate(ctx, kind, req, dst)
}

// operate is do, once all is set.
func (in *instance) operate(ctx context.Context, kind uint32, req, dst []byte) (reply, error) {
	if in.dead {
		return reply{}, internal("is dead")
	}
	at := in.request
	if len(req) > int(in.room) {
		p, err := in.invoke(in.alloc, uint64(len(req)))
		if err != nil {
			return reply{}, err
		}
		if at = uint32(p); at == 0 {
			return reply{}, fault.New(fault.ErrLimit, "guest", "", "has no memory for the request")
		}
		defer func() {
			if !in.dead {
				_, _ = in.invoke(in.free, p)
			}
		}()
	}
	if !in.memory.Write(at, req) {
		return reply{}, in.broken("its request area is outside its memory")
	}
	n, err := in.invoke(in.call, uint64(kind), uint64(at), uint64(len(req)))
	if err != nil {
		return reply{}, err
	}
	op := int32(n)
	if op < 0 {
		return reply{}, refused(kind, fault.Code(op))
	}
	b, ok := in.memory.Read(in.mailbox, boxSize)
	if !ok {
		return reply{}, in.broken("its mailbox is outside its memory")
	}
	result, status := u32(b, boxResult), u32(b, boxStatus)
	if result == 0 || op == 0 {
		if result, err = in.finish(uint32(op), status); err != nil {
			return reply{}, err
		}
	}
	r, err := in.collect(result, dst)
	if in.dead {
		return r, err
	}
	if _, e := in.invoke(in.drop, uint64(op)); e != nil {
		return reply{}, e
	}
	if err != nil && r.object != 0 && opens(kind) { // nobody will know of it
		_, _ = in.operate(ctx, wire.KindClose, binary.LittleEndian.AppendUint32(nil, r.object), nil)
		r = reply{}
	}
	if code := fault.CodeOf(err); code == fault.CodeCancelled && ctx.Err() != nil {
		err = storage.Ended(ctx, "") // the context's own error too
	}
	return r, err
}

// opens says whether an operation's object is a handle.
func opens(kind uint32) bool {
	switch kind {
	case wire.KindOpen, wire.KindCacheNew, wire.KindContainerOpen, wire.KindContainerCreate, wire.KindContainerDo, wire.KindImagesOpen, wire.KindScratchOpen:
		return true
	}
	return false
}

// finish runs an operation on that gh_call has not brought to its end.
func (in *instance) finish(op, status uint32) (uint32, error) {
	for stalls := 0; ; {
		switch status {
		case wire.More:
		case wire.Stalled:
			if stalls++; stalls > maxStalls {
				return 0, in.broken("stalled")
			}
			time.Sleep(time.Millisecond)
		case wire.Idle:
			// Every import answers at once, so nothing can be out.
			return 0, in.broken("waits for what never comes")
		default:
			return 0, in.broken("was entered twice")
		}
		n, err := in.invoke(in.run, 0, 0)
		if err != nil {
			return 0, err
		}
		status = uint32(n)
		if n, err = in.invoke(in.result, uint64(op)); err != nil {
			return 0, err
		}
		if n != 0 {
			return uint32(n), nil
		}
	}
}

// collect copies a result out of the guest.
func (in *instance) collect(at uint32, dst []byte) (reply, error) {
	b, ok := in.memory.Read(at, resultSize)
	if !ok {
		return reply{}, in.broken("a result is outside its memory")
	}
	switch state := u32(b, 0); state {
	case wire.OK:
	case wire.Failed, wire.Panicked:
		err := in.failure(b)
		if state == wire.Panicked {
			in.die() // nothing else runs in it
		}
		return reply{}, err
	default:
		return reply{}, in.broken("a result is not final")
	}
	r := reply{kind: u32(b, 8), object: u32(b, 28), off: int64(binary.LittleEndian.Uint64(b[32:])), length: int64(binary.LittleEndian.Uint64(b[40:]))}
	data, ok := in.memory.Read(u32(b, 12), u32(b, 16))
	if !ok {
		return reply{}, in.broken("a result is outside its memory")
	}
	if most := in.sandbox.config.Limits.Output; most >= 0 && int64(len(data)) > most {
		return reply{object: r.object}, fault.New(fault.ErrLimit, "sandbox", "", "the result has "+strconv.Itoa(len(data))+" bytes, more than Limits.Output allows")
	}
	// Copied: the window moves and changes with the guest's memory.
	if cap(dst) >= len(data) {
		r.bytes = dst[:len(data)]
		copy(r.bytes, data)
	} else {
		r.bytes = append(make([]byte, 0, len(data)), data...)
	}
	return r, nil
}

// failure makes the error of a failed result.
func (in *instance) failure(b []byte) error {
	detail, ok := in.memory.Read(u32(b, 20), u32(b, 24))
	if !ok {
		return in.broken("a failure is outside its memory")
	}
	return failureOf(fault.Code(int32(u32(b, 4))), detail)
}

// broken kills an instance that does not keep to the ABI.
func (in *instance) broken(why string) error {
	in.die()
	return internal(why)
}

func u32(b []byte, off int) uint32 { return binary.LittleEndian.Uint32(b[off:]) }
