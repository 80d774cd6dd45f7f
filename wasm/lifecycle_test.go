package wasm_test

import (
	"context"
	"crypto/rand"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/gridhold/gridhold/wasm"
	"github.com/gridhold/gridhold/wasm/wire"
)

// Report 39: the guest is a reactor. What is called before it was initialized,
// or after it was closed, is an error of that call; the host and other
// instances go on, also when one is initialized twice.
func TestReport39LifeCycle(t *testing.T) {
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCompilationCache(compiled))
	t.Cleanup(func() { require.NoError(t, r.Close(ctx)) })
	wasi_snapshot_preview1.MustInstantiate(ctx, r)
	code, err := r.CompileModule(ctx, wasm.Module)
	require.NoError(t, err)
	b := r.NewHostModuleBuilder("gridhold")
	for _, f := range code.ImportedFunctions() {
		if module, name, _ := f.Import(); module == "gridhold" {
			results := f.ResultTypes()
			b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(_ context.Context, _ api.Module, stack []uint64) {
				if len(results) > 0 {
					stack[0] = api.EncodeI32(-3)
				}
			}), f.ParamTypes(), results).Export(name)
		}
	}
	_, err = b.Instantiate(ctx)
	require.NoError(t, err)
	require.Contains(t, code.ExportedFunctions(), "_initialize", "which says that it is a reactor")
	require.NotContains(t, code.ExportedFunctions(), "_start")

	made := func(starts ...string) api.Module {
		m, err := r.InstantiateModule(ctx, code, wazero.NewModuleConfig().WithName("").WithStartFunctions(starts...).WithSysNanotime().WithSysWalltime().WithRandSource(rand.Reader))
		require.NoError(t, err)
		return m
	}
	works := func(m api.Module) {
		t.Helper()
		out, err := m.ExportedFunction("gh_abi").Call(ctx)
		require.NoError(t, err)
		require.EqualValues(t, wire.Major<<16|wire.Minor, out[0])
	}
	whole := made("_initialize")
	works(whole)
	for name, f := range code.ExportedFunctions() {
		if name == "_initialize" {
			continue
		}
		early := made()
		_, err := early.ExportedFunction(name).Call(ctx, make([]uint64, len(f.ParamTypes()))...)
		require.ErrorContains(t, err, "unreachable", "%s before _initialize", name)
		require.NoError(t, early.Close(ctx))
		works(whole)
	}
	twice := made("_initialize")
	_, err = twice.ExportedFunction("_initialize").Call(ctx)
	t.Logf("_initialize once more: %v", err) // the contract allows it once
	require.NoError(t, twice.Close(ctx))
	works(whole)
	works(made("_initialize"))
	require.NoError(t, whole.Close(ctx))
	_, err = whole.ExportedFunction("gh_abi").Call(ctx)
	require.Error(t, err, "after the end")
}
