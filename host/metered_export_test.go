package host

import (
	"context"
	"log/slog"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/gridhold/gridhold/host/internal/meter"
	"github.com/gridhold/gridhold/wasm"
)

// NewMetered is New with a guest that counts what it does, and calls asked
// when it wants more.
func NewMetered(ctx context.Context, runtime wazero.RuntimeConfig, asked func()) (*Sandbox, error) {
	c := Config{Memory: DefaultMemory, Log: slog.New(slog.DiscardHandler)}
	c.Limits.setDefaults()
	s := &Sandbox{config: c, pool: newPool(1), shared: newShared()}
	guest, err := meter.Instrument(wasm.Module, meter.Options{Stack: 16 << 20, Work: 1 << 22})
	if err != nil {
		return nil, err
	}
	s.runtime = wazero.NewRuntimeWithConfig(ctx, runtime.WithMemoryLimitPages(DefaultMemory/pageSize))
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, s.runtime); err != nil {
		return nil, err
	}
	if err := s.export(ctx); err != nil {
		return nil, err
	}
	i32 := []api.ValueType{api.ValueTypeI32}
	_, err = s.runtime.NewHostModuleBuilder(meter.ImportModule).NewFunctionBuilder().
		WithGoFunction(api.GoFunc(func(_ context.Context, stack []uint64) {
			if int32(stack[0]) == meter.Overflow {
				panic("nested too deep")
			}
			asked()
			stack[0] = 1 << 16
		}), i32, i32).Export(meter.ImportName).Instantiate(ctx)
	if err != nil {
		return nil, err
	}
	if s.module, err = s.runtime.CompileModule(ctx, guest); err != nil {
		return nil, err
	}
	return s, nil
}
