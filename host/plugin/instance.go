package plugin

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/sys"

	"github.com/gridhold/gridhold/host/internal/linear"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// instance is a running plugin. Whoever took it from Plugin.turns owns it.
// One whose module is nil was never started, or is dead.
type instance struct {
	plugin *Plugin
	module api.Module
	memory api.Memory
	calls  map[string]api.Function
	call   *call // the last one
	stack  [8]uint64
}

// within runs f on an instance, under a deadline. After an error that is not
// an answer of the plugin's the instance is dead.
func (p *Plugin) within(ctx context.Context, reads source, f func(in *instance) error) (err error) {
	if err := storage.Ended(ctx, p.name()); err != nil {
		return err
	}
	ends := time.Now().Add(p.o.Deadline)
	wait, cancel := context.WithDeadline(ctx, ends)
	defer cancel()
	in, err := p.take(wait)
	if err != nil {
		return err
	}
	defer p.put(in)
	defer func() {
		if err != nil && fault.CodeOf(err) == fault.CodeInternal {
			in.kill() // whatever state it is in
		}
	}()
	defer recovered(&err)
	// A new one each time: wazero looks at it from another goroutine, which may be late.
	in.call = &call{Context: ctx, in: in, ends: ends, reads: reads, budget: p.o.Read}
	if p.o.Interruption == Runtime {
		in.call.Context = wait
	}
	if in.module == nil {
		if err := in.start(); err != nil {
			return err
		}
	} else if _, err := in.invoke("gp_reset"); err != nil {
		return err
	}
	return f(in)
}

// start makes the instance.
func (in *instance) start() error {
	p := in.plugin
	in.call.Context = linear.WithAllocator(in.call.Context)
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions().WithStdout(io.Discard).WithStderr(io.Discard)
	m, err := p.runtime.InstantiateModule(in.call, p.module, config)
	if err != nil {
		return in.died(err)
	}
	in.module, in.memory, in.calls = m, m.Memory(), map[string]api.Function{}
	for _, name := range p.contract.exports {
		in.calls[name] = m.ExportedFunction(name)
	}
	if p.contract.has("_initialize") {
		if _, err := in.invoke("_initialize"); err != nil {
			return err
		}
	}
	abi, err := in.invoke("gp_abi")
	if err != nil {
		return err
	}
	if major, minor := uint32(abi)>>16, uint32(abi)&0xffff; major != Major || minor > Minor {
		return in.misbehaved(fault.ErrUnsupported, "speaks version "+strconv.Itoa(int(major))+"."+strconv.Itoa(int(minor))+" of the contract, not "+strconv.Itoa(Major)+"."+strconv.Itoa(Minor))
	}
	return nil
}

// invoke calls an export.
func (in *instance) invoke(name string, args ...uint32) (int32, error) {
	clear(in.stack[:])
	for i, a := range args {
		in.stack[i] = uint64(a)
	}
	if err := in.calls[name].CallWithStack(in.call, in.stack[:max(len(args), 1)]); err != nil {
		return 0, in.died(err)
	}
	return int32(in.stack[0]), nil
}

// died marks the instance dead and says what of.
func (in *instance) died(err error) error {
	p := in.plugin
	in.kill()
	var exit *sys.ExitError
	switch {
	case errors.Is(err, errDeadline), errors.As(err, &exit) && (exit.ExitCode() == sys.ExitCodeDeadlineExceeded || exit.ExitCode() == sys.ExitCodeContextCanceled):
		if ended := storage.Ended(in.call.Context, p.name()); ended != nil && time.Now().Before(in.call.ends) {
			return ended
		}
		return &fault.Error{Format: "plugin", Item: p.name(), Off: -1, Why: "took longer than " + p.o.Deadline.String(), Err: late{}}
	case errors.Is(err, errDeep):
		return p.fail(fault.ErrLimit, errDeep.Error())
	case exit != nil:
		return p.fail(fault.ErrInternal, "exited with "+strconv.FormatUint(uint64(exit.ExitCode()), 10))
	}
	return p.fail(fault.ErrInternal, "died: "+firstLine(err))
}

// late is the cause of a call that took longer than the plugin may: a fault of
// the plugin's, and nothing that the caller asked for.
type late struct{}

func (late) Error() string   { return context.DeadlineExceeded.Error() }
func (late) Unwrap() []error { return []error{fault.ErrInternal, context.DeadlineExceeded} }

// misbehaved marks the instance dead because it broke the contract.
func (in *instance) misbehaved(kind error, why string) error {
	in.kill()
	return in.plugin.fail(kind, why)
}

func (in *instance) kill() {
	if in.module != nil {
		_ = in.module.Close(context.Background())
	}
	in.module, in.memory, in.calls = nil, nil, nil
}

// window is n bytes of the instance's memory, until it runs again.
func (in *instance) window(at, n uint32) ([]byte, bool) {
	if in.memory == nil { // it is being started, in its start function
		return nil, false
	}
	b, ok := in.memory.Read(at, n) // checks at + n in 64 bits
	if !ok {
		return nil, false
	}
	return b[:len(b):len(b)], true
}

// alloc makes room for the parts one after the other, each at a multiple of
// 16, and writes those that are not only sizes.
func (in *instance) alloc(parts ...part) ([]uint32, error) {
	at := make([]uint32, len(parts))
	n := int64(0)
	for i, p := range parts {
		at[i] = uint32(n)
		n += (int64(p.size()) + 15) &^ 15
		if n > in.plugin.o.Memory {
			return nil, in.plugin.fail(fault.ErrLimit, "what it is to work on does not fit its memory of "+strconv.FormatInt(in.plugin.o.Memory, 10)+" bytes")
		}
	}
	n = max(n, 16)
	base, err := in.invoke("gp_alloc", uint32(n))
	if err != nil {
		return nil, err
	}
	if base == 0 {
		return nil, in.plugin.fail(fault.ErrLimit, "has no memory for "+strconv.FormatInt(n, 10)+" bytes")
	}
	room, ok := in.window(uint32(base), uint32(n))
	if !ok {
		return nil, in.misbehaved(fault.ErrInternal, "allocates what is not in its memory")
	}
	for i, p := range parts {
		copy(room[at[i]:], p.bytes)
		at[i] += uint32(base)
	}
	return at, nil
}

// part is bytes to hand to a plugin, or room for so many.
type part struct {
	bytes []byte
	room  int
}

func (p part) size() int { return max(len(p.bytes), p.room) }

// answer is what an export returned: its failure, with the reason that the
// plugin gives for it.
func (in *instance) answer(n int32) error {
	if n >= 0 {
		return nil
	}
	if err := in.call.err; err != nil && fault.CodeOf(err) == fault.Code(n) {
		return err // passed on from a read
	}
	var kind error
	switch code := fault.Code(n); code {
	case fault.CodeCorrupt, fault.CodeUnsupported, fault.CodeLimit, fault.CodeInvalid, fault.CodeTooSmall:
		kind = fault.Of(code)
	default:
		return in.misbehaved(fault.ErrInternal, "answers "+strconv.Itoa(int(n))+", which means nothing here")
	}
	why := ""
	if in.plugin.contract.has("gp_why") {
		if b, err := in.bytesFrom("gp_why", 1<<12); err == nil {
			why = legible(b)
		}
	}
	return in.plugin.fail(kind, why)
}

// bytesFrom calls an export that takes where to write the address and length
// of bytes, and returns those: at most so many. They are good until the
// instance runs again.
func (in *instance) bytesFrom(export string, most int) ([]byte, error) {
	at, err := in.alloc(part{room: 8})
	if err != nil {
		return nil, err
	}
	n, err := in.invoke(export, at[0])
	if err != nil {
		return nil, err
	}
	if n < 0 {
		return nil, in.misbehaved(fault.ErrInternal, export+" answers "+strconv.Itoa(int(n)))
	}
	return in.written(at[0], most)
}

// written is the bytes that a gp_bytes in the instance's memory names: at most
// so many, and good until the instance runs again.
func (in *instance) written(out uint32, most int) ([]byte, error) {
	words, ok := in.window(out, 8)
	if !ok {
		return nil, in.misbehaved(fault.ErrInternal, "its memory went away")
	}
	at, n := binary.LittleEndian.Uint32(words), binary.LittleEndian.Uint32(words[4:])
	if uint64(n) > uint64(most) {
		return nil, in.misbehaved(fault.ErrLimit, "answers with "+strconv.FormatUint(uint64(n), 10)+" bytes, at most "+itoa(most)+" are taken")
	}
	b, ok := in.window(at, n)
	if !ok {
		return nil, in.misbehaved(fault.ErrInternal, "names bytes outside its memory")
	}
	return b, nil
}

// firstLine is an error of wazero's without the stack of the module, or of
// what it cites of it.
func firstLine(err error) string {
	s, _, _ := strings.Cut(err.Error(), "\n")
	return legible([]byte(s))
}

func itoa(n int) string { return strconv.Itoa(n) }
