package plugin

import (
	"context"
	"errors"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/gridhold/gridhold/host/internal/meter"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

const pageSize = 64 << 10

// Plugin is somebody's module, compiled, and the instances that run it. Its
// methods may be called concurrently. Close it.
type Plugin struct {
	o        Options
	about    About
	contract contract
	runtime  wazero.Runtime
	module   wazero.CompiledModule
	why      error // why the counter could not be; nil: it is

	// turns holds one entry for each instance that may run: who takes it owns
	// it. nil: not made yet, or dead.
	turns     chan *instance
	closeOnce sync.Once
	closed    chan struct{}
	closeErr  error
}

// Open checks and compiles a plugin and asks it what it is. ErrCorrupt: it is
// no valid module of WebAssembly 2.0, or its description contradicts the
// contract. ErrUnsupported: it speaks another version of that, or lacks an
// export. ErrNotAllowed: it imports what it is not granted. ErrLimit: it
// wants more than the options give. ErrExists: it claims a name that is built in.
func Open(ctx context.Context, wasm []byte, o Options) (*Plugin, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if len(wasm) > o.Module {
		return nil, fault.New(fault.ErrLimit, "plugin", "", "the module is larger than "+itoa(o.Module)+" bytes")
	}
	p := &Plugin{o: o, turns: make(chan *instance, o.Instances), closed: make(chan struct{})}
	// First what wazero should not see at all.
	plain, code, err := p.instrument(wasm)
	if err != nil {
		return nil, err
	}
	if p.contract, err = inspect(ctx, plain, o); err != nil {
		return nil, err
	}
	if err := p.compile(ctx, code); err != nil {
		return nil, errors.Join(err, p.release())
	}
	for range o.Instances {
		p.turns <- nil
	}
	if err := p.introduce(ctx); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// recovered turns a panic into an error. No module should bring the compiler to
// one; some day one will.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fault.Recovered(p)
	}
}

// instrument returns the module as it is, within bounds, and with the counter
// in it; the same where that is left to wazero.
func (p *Plugin) instrument(wasm []byte) (plain, code []byte, err error) {
	defer recovered(&err)
	bounds := meter.Options{Tables: p.o.Tables, Stack: p.o.Stack, Work: p.o.Work}
	if plain, err = meter.Confine(wasm, bounds); err != nil || p.o.Interruption != Counter {
		return plain, plain, err
	}
	code, err = meter.Instrument(wasm, bounds)
	if fault.CodeOf(err) == fault.CodeUnsupported {
		p.why, p.o.Interruption = err, Runtime
		return plain, plain, nil
	}
	return plain, code, err
}

// compile makes machine code.
func (p *Plugin) compile(ctx context.Context, code []byte) (err error) {
	defer recovered(&err)
	p.runtime = wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCoreFeatures(api.CoreFeaturesV2).
		WithMemoryLimitPages(uint32(p.o.Memory/pageSize)).WithCloseOnContextDone(p.o.Interruption == Runtime))
	if p.o.Grants.WASI {
		if _, err = wasi_snapshot_preview1.Instantiate(ctx, p.runtime); err != nil {
			return err
		}
	}
	if err = p.export(ctx); err != nil {
		return err
	}
	if p.module, err = p.runtime.CompileModule(ctx, code); err != nil {
		return fault.New(fault.ErrCorrupt, "plugin", "", "does not compile: "+firstLine(err))
	}
	return nil
}

// Interruption is how calls of this plugin end that take too long, and why
// not by the counter, if that was asked for.
func (p *Plugin) Interruption() (Interruption, error) { return p.o.Interruption, p.why }

// About is what the plugin said of itself.
func (p *Plugin) About() About { return p.about }

// Imports are what the plugin imports, as MODULE.NAME, sorted.
func (p *Plugin) Imports() []string { return p.contract.imports }

// Exports are the exports of the contract that the plugin has, sorted.
func (p *Plugin) Exports() []string { return p.contract.exports }

// Close waits for the calls that run and frees everything. Later calls give
// ErrClosed; closing twice is fine.
func (p *Plugin) Close() error {
	p.closeOnce.Do(func() {
		close(p.closed)
		for range p.o.Instances {
			if in := <-p.turns; in != nil {
				in.kill()
			}
		}
		p.closeErr = p.release()
	})
	return p.closeErr
}

func (p *Plugin) release() error {
	if p.runtime == nil {
		return nil
	}
	return p.runtime.Close(context.Background())
}

// take waits for an instance, and makes one where there is none.
func (p *Plugin) take(ctx context.Context) (*instance, error) {
	select {
	case <-p.closed:
		return nil, p.fail(fault.ErrClosed, "")
	default:
	}
	select {
	case <-p.closed:
		return nil, p.fail(fault.ErrClosed, "")
	case <-ctx.Done():
		return nil, storage.Ended(ctx, p.name())
	case in := <-p.turns:
		if in != nil && in.module != nil {
			return in, nil
		}
		return &instance{plugin: p}, nil
	}
}

// put gives the turn to the next call.
func (p *Plugin) put(in *instance) {
	in.call = nil
	if in.module == nil {
		in = nil
	}
	p.turns <- in
}

// name is what errors call the plugin.
func (p *Plugin) name() string { return p.about.Name }

func (p *Plugin) fail(kind error, why string) error {
	return fault.New(kind, "plugin", p.name(), why)
}
