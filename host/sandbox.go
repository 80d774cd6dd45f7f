// Package host runs the core in a sandbox: the same code as package zarr,
// compiled to wasm and run by wazero, within a memory of its own and a cap
// on it. It opens arrays over any store and reads them with the names of
// package zarr.
//
// A fault of the guest, whatever its cause, ends one instance and fails the
// calls that were in it with ErrInternal. The next call runs on a fresh
// instance, on which arrays and caches open themselves again.
package host

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/wasm"
)

const (
	pageSize     = 64 << 10
	maxInstances = 1024
)

// Config says how a Sandbox is made. Its zero value is the advice, but for
// CompileCache: compiling takes more than a second.
type Config struct {
	// Memory is the cap of the memory of one instance in bytes; 0:
	// DefaultMemory. One chunk may take a quarter of it. The smallest is 16 MiB.
	Memory int64
	// Instances is how many calls can run at once; 0: 1. An instance is started
	// when it is first needed. Arrays, groups and stacks of images are read
	// by any of them; a container or scratch stays with one.
	Instances int
	// Limits bound what calls may cost.
	Limits Limits
	// CompileCache is a directory that keeps the compiled guest between
	// processes, see UserCompileCache; "": none. A cache that cannot be used
	// is no failure.
	CompileCache string
	// Strict lends no codecs: everything is decoded in the sandbox.
	Strict bool
	// Fetcher makes the HTTP exchanges of stores made by Sandbox.HTTP; nil:
	// such stores are ErrUnsupported.
	Fetcher storage.Fetcher
	// Grants are what At opens by name, and all that may be fetched if they are
	// not nil; nil: At opens nothing, and every URL may be fetched.
	Grants *Grants
	// Observe is told of each operation of the guest, when it has ended; nil:
	// nobody is. It may be called concurrently, and must not call the sandbox.
	Observe func(Call)
	// Log takes what the guest has to say, faults mostly; nil: nothing.
	Log *slog.Logger
}

// Sandbox is a compiled guest and the instances that run it. Its methods may
// be called concurrently; what finds no instance free waits for its turn.
// Close it.
type Sandbox struct {
	config  Config
	runtime wazero.Runtime
	module  wazero.CompiledModule
	cache   wazero.CompilationCache
	codecs  codecs
	stores  stores
	shared  shared
	systems systems
	roots   roots
	granted []directory

	pool     *pool
	serial   atomic.Uint64 // of the last instance
	objects  atomic.Int64  // open
	counters counters

	closing   atomic.Bool
	warming   sync.RWMutex // held shared by reads past the guest, which have no slot
	closeOnce sync.Once
	closeErr  error
}

// New compiles the guest and starts it.
func New(ctx context.Context, c Config) (*Sandbox, error) {
	if c.Memory == 0 {
		c.Memory = DefaultMemory
	}
	if c.Memory < 16<<20 || c.Memory > 4<<30 {
		return nil, fault.New(fault.ErrInvalid, "sandbox", "Memory", "must be from 16 MiB to 4 GiB")
	}
	if c.Instances < 0 || c.Instances > maxInstances {
		return nil, fault.New(fault.ErrInvalid, "sandbox", "Instances", "must be from 1 to "+strconv.Itoa(maxInstances))
	}
	c.Limits.setDefaults()
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	s := &Sandbox{config: c, pool: newPool(max(1, c.Instances)), shared: newShared()}
	if g := c.Grants; g != nil {
		var err error
		if s.granted, err = g.directories(); err == nil {
			err = g.check()
		}
		if err != nil {
			return nil, err
		}
	}
	if err := s.compile(ctx); err != nil {
		return nil, err
	}
	in, err := s.take(ctx)
	if err != nil {
		s.release()
		return nil, err
	}
	s.put(in)
	return s, nil
}

// compile makes runtime and module. A compile cache that fails is emptied,
// and then done without.
func (s *Sandbox) compile(ctx context.Context) error {
	dirs := []string{""}
	if s.config.CompileCache != "" {
		if dir := ofGuest(s.config.CompileCache); prepareCache(dir) == nil {
			dirs = []string{dir, dir, ""}
		}
	}
	var err error
	for i, dir := range dirs {
		if i == 1 {
			emptyCache(dir)
		}
		if err = s.compileWith(ctx, dir); err == nil {
			if dir != "" {
				sealCache(dir)
			}
			return nil
		}
		s.release()
	}
	return fault.New(fault.ErrInternal, "sandbox", "", "the guest does not compile: "+err.Error())
}

func (s *Sandbox) compileWith(ctx context.Context, dir string) (err error) {
	config := wazero.NewRuntimeConfig().WithMemoryLimitPages(uint32(s.config.Memory / pageSize))
	if dir != "" {
		if s.cache, err = wazero.NewCompilationCacheWithDir(dir); err != nil {
			return err
		}
		config = config.WithCompilationCache(s.cache)
	}
	s.runtime = wazero.NewRuntimeWithConfig(ctx, config)
	if _, err = wasi_snapshot_preview1.Instantiate(ctx, s.runtime); err != nil {
		return err
	}
	if err = s.export(ctx); err != nil {
		return err
	}
	s.module, err = s.runtime.CompileModule(ctx, wasm.Module)
	return err
}

func (s *Sandbox) release() {
	ctx := context.Background()
	if s.runtime != nil {
		s.closeErr = s.runtime.Close(ctx)
		s.runtime = nil
	}
	if s.cache != nil {
		_ = s.cache.Close(ctx)
		s.cache = nil
	}
}

// Close waits for the calls that are running and frees everything. Later calls
// give ErrClosed; closing twice is fine.
func (s *Sandbox) Close() error {
	s.closeOnce.Do(func() {
		s.closing.Store(true)
		s.warming.Lock() // waits for them
		s.warming.Unlock()
		s.pool.close()
		for _, at := range s.pool.slots {
			if at.in != nil {
				at.in.kill()
			}
		}
		s.release()
		s.closeErr = errors.Join(s.closeErr, s.roots.close())
	})
	return s.closeErr
}

// take waits for an instance, and makes a new one where there is none or a
// dead one. The caller puts it back.
func (s *Sandbox) take(ctx context.Context) (*instance, error) { return s.takeAt(ctx, nil) }

// takeAt waits for the instance of one slot; nil: of any.
func (s *Sandbox) takeAt(ctx context.Context, at *slot) (*instance, error) {
	at, err := s.pool.take(ctx, at)
	if err != nil {
		return nil, err
	}
	if at.in != nil && !at.in.dead {
		return at.in, nil
	}
	if at.in, err = s.start(ctx); err != nil {
		s.giveBack(at)
		return nil, err
	}
	at.in.slot = at
	return at.in, nil
}

// put gives the instance to the next call.
func (s *Sandbox) put(in *instance) { s.giveBack(in.slot) }

func (s *Sandbox) giveBack(at *slot) {
	for !s.pool.give(at) {
		for _, e := range s.pool.sweep(at) {
			if at.in != nil && !at.in.dead {
				_ = at.in.forget(e.o)
			}
			e.leave()
		}
	}
}

// visit calls do with each instance on which o is open, one after the other.
func (s *Sandbox) visit(ctx context.Context, o opener, do func(in *instance) error) error {
	for _, at := range s.pool.slots {
		at, err := s.pool.take(ctx, at)
		if err != nil {
			return err
		}
		if at.in != nil && at.in.has(o) {
			err = do(at.in)
		}
		s.giveBack(at)
		if err != nil {
			return err
		}
	}
	return nil
}

// end closes the handles of what is not used any more: at once where an
// instance is free, and else after its call. free is called after the last.
func (s *Sandbox) end(o opener, free func()) {
	taken, e := s.pool.end(o, free)
	for _, at := range taken {
		_ = at.in.forget(o)
		s.giveBack(at)
	}
	e.leave()
}

// endAt waits for the instance that has o, and reports how closing it went.
func (s *Sandbox) endAt(o opener, at *slot, free func()) error {
	in, err := s.takeAt(context.Background(), at)
	if errors.Is(err, fault.ErrClosed) {
		s.end(o, free)
		return nil // and everything with it
	}
	if err == nil {
		err = in.forget(o)
		s.put(in)
	}
	s.end(o, free)
	return err
}

func (s *Sandbox) moduleConfig() wazero.ModuleConfig {
	return wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize").
		WithSysWalltime().WithSysNanotime().WithSysNanosleep().WithRandSource(random).
		WithStderr(logWriter{s.config.Log}).WithStdout(io.Discard)
}

// logWriter turns what the guest's runtime writes as it dies into records.
type logWriter struct{ log *slog.Logger }

func (w logWriter) Write(b []byte) (int, error) {
	w.log.Error("guest: " + string(b))
	return len(b), nil
}

func errClosed(what string) error { return fault.New(fault.ErrClosed, what, "", "") }
