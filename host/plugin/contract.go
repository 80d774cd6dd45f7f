package plugin

import (
	"context"
	"slices"
	"strconv"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/gridhold/gridhold/sdk/fault"
)

// The version of the contract: docs/abi.md, section "Plugins".
const (
	Major = 1
	Minor = 0
)

// Imports is the module that plugins import from.
const Imports = "gridhold_plugin"

const wasi = "wasi_snapshot_preview1"

// exports are those of the contract, by how many i32 they take and give.
var exports = map[string]struct {
	params, results int
	needed          func(has func(string) bool) bool
}{
	"gp_abi":      {0, 1, always},
	"gp_alloc":    {1, 1, always},
	"gp_reset":    {0, 0, always},
	"gp_about":    {1, 1, always},
	"gp_why":      {1, 1, never},
	"gp_decode":   {7, 1, func(has func(string) bool) bool { return !has("gp_describe") || has("gp_encode") }},
	"gp_encode":   {7, 1, never},
	"gp_describe": {5, 1, func(has func(string) bool) bool { return has("gp_chunk") }},
	"gp_chunk":    {5, 1, func(has func(string) bool) bool { return has("gp_describe") }},
	"_initialize": {0, 0, never},
}

func always(func(string) bool) bool { return true }

func never(func(string) bool) bool { return false }

// contract is what a module has of it.
type contract struct {
	imports, exports []string
}

func (c contract) has(export string) bool { return slices.Contains(c.exports, export) }

// inspect validates a module, with everything but its code being compiled,
// and compares it with the contract.
func inspect(ctx context.Context, wasm []byte, o Options) (c contract, err error) {
	defer recovered(&err)
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(api.CoreFeaturesV2))
	defer rt.Close(ctx)
	m, err := rt.CompileModule(ctx, wasm)
	if err != nil {
		return c, fault.New(fault.ErrCorrupt, "plugin", "", "no valid module: "+firstLine(err))
	}
	for _, f := range m.ImportedFunctions() {
		module, name, _ := f.Import()
		what := module + "." + name
		c.imports = append(c.imports, what)
		switch {
		case module == Imports && granted(name, f, o.Grants):
		case module == wasi && o.Grants.WASI:
		default:
			return c, fault.New(fault.ErrNotAllowed, "plugin", "", "imports "+strconv.Quote(what)+", which it is not granted")
		}
	}
	if len(m.ImportedMemories()) > 0 {
		return c, fault.New(fault.ErrNotAllowed, "plugin", "", "imports a memory")
	}
	memory := m.ExportedMemories()["memory"]
	switch {
	case memory == nil:
		return c, fault.New(fault.ErrUnsupported, "plugin", "", `does not export "memory"`)
	case int64(memory.Min())*pageSize > o.Memory:
		return c, fault.New(fault.ErrLimit, "plugin", "", "begins with more memory than "+strconv.FormatInt(o.Memory, 10)+" bytes")
	}
	functions := m.ExportedFunctions()
	has := func(name string) bool { return functions[name] != nil }
	for name, want := range exports {
		f := functions[name]
		switch {
		case f == nil && want.needed(has):
			return c, fault.New(fault.ErrUnsupported, "plugin", "", "does not export "+strconv.Quote(name))
		case f == nil:
		case !onlyI32(f.ParamTypes(), want.params) || !onlyI32(f.ResultTypes(), want.results):
			return c, fault.New(fault.ErrUnsupported, "plugin", "", "exports "+strconv.Quote(name)+" as another type than the contract has")
		default:
			c.exports = append(c.exports, name)
		}
	}
	slices.Sort(c.imports)
	slices.Sort(c.exports)
	return c, nil
}

// granted reports whether the plugin may import a function of ours, as it
// wants to.
func granted(name string, f api.FunctionDefinition, g Grants) bool {
	i, ok := imports[name]
	return ok && (!i.keys || g.Keys) && onlyI32(f.ParamTypes(), i.params) && onlyI32(f.ResultTypes(), i.results)
}

func onlyI32(types []api.ValueType, n int) bool {
	return len(types) == n && !slices.ContainsFunc(types, func(t api.ValueType) bool { return t != api.ValueTypeI32 })
}
