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
	"io"
	"log/slog"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/wasm"
)

// DefaultMemory is the cap of the guest's memory where Config names none.
const DefaultMemory = 512 << 20

const pageSize = 64 << 10

// Config says how a Sandbox is made. Its zero value is the advice, but for
// CompileCache: compiling takes more than a second.
type Config struct {
	// Memory is the cap of the guest's memory in bytes; 0: DefaultMemory.
	// One chunk may take a quarter of it. The smallest is 16 MiB.
	Memory int64
	// CompileCache is a directory that keeps the compiled guest between
	// processes, see UserCompileCache; "": none. A cache that cannot be used
	// is no failure.
	CompileCache string
	// Strict lends no codecs: everything is decoded in the sandbox.
	Strict bool
	// Fetcher makes the HTTP exchanges of stores made by Sandbox.HTTP; nil:
	// such stores are ErrUnsupported.
	Fetcher storage.Fetcher
	// Log takes what the guest has to say, faults mostly; nil: nothing.
	Log *slog.Logger
}

// Sandbox is a compiled guest and the instance that runs it. Its methods may
// be called concurrently; calls take turns. Close it.
type Sandbox struct {
	config  Config
	runtime wazero.Runtime
	module  wazero.CompiledModule
	cache   wazero.CompilationCache
	codecs  codecs
	stores  stores
	systems systems

	// turns holds the instance while no call uses it: who takes it owns it
	// until he puts it back. More than one of them makes a pool.
	turns  chan *instance
	serial uint64 // of the last instance; its owner's

	closeOnce sync.Once
	closed    chan struct{}
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
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	s := &Sandbox{config: c, turns: make(chan *instance, 1), closed: make(chan struct{})}
	if err := s.compile(ctx); err != nil {
		return nil, err
	}
	in, err := s.start(ctx)
	if err != nil {
		s.release()
		return nil, err
	}
	s.turns <- in
	return s, nil
}

// compile makes runtime and module. A compile cache that fails is emptied,
// and then done without.
func (s *Sandbox) compile(ctx context.Context) error {
	dirs := []string{""}
	if dir := s.config.CompileCache; dir != "" && prepareCache(dir) == nil {
		dirs = []string{dir, dir, ""}
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

// Close waits for the call that is running and frees everything. Later calls
// give ErrClosed; closing twice is fine.
func (s *Sandbox) Close() error {
	s.closeOnce.Do(func() {
		close(s.closed)
		in := <-s.turns
		if in != nil {
			in.kill()
		}
		s.release()
	})
	return s.closeErr
}

// take waits for the instance, and makes a new one where it is dead.
func (s *Sandbox) take(ctx context.Context) (*instance, error) {
	select {
	case <-s.closed:
		return nil, errClosed("sandbox")
	default:
	}
	var in *instance
	select {
	case in = <-s.turns:
	default:
		select {
		case in = <-s.turns:
		case <-ctx.Done():
			return nil, storage.Ended(ctx, "")
		case <-s.closed:
			return nil, errClosed("sandbox")
		}
	}
	if in != nil && !in.dead {
		return in, nil
	}
	in, err := s.start(ctx)
	if err != nil {
		s.turns <- nil
		return nil, err
	}
	return in, nil
}

// put gives the turn to the next call.
func (s *Sandbox) put(in *instance) { s.turns <- in }

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
