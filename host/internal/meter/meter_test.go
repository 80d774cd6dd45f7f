package meter_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/gridhold/gridhold/host/internal/meter"
	"github.com/gridhold/gridhold/sdk/fault"
)

// tank is what refuels in tests.
type tank struct {
	slice int32
	left  int // slices; below zero: no end
	asked int
}

var (
	errEmpty = errors.New("the tank is empty")
	errDeep  = errors.New("nested too deep")
)

func (k *tank) refuel(_ context.Context, stack []uint64) {
	if int32(stack[0]) == meter.Overflow {
		panic(errDeep)
	}
	k.asked++
	if k.left == 0 {
		panic(errEmpty)
	}
	k.left--
	stack[0] = uint64(uint32(k.slice))
}

// runtime is one in which modules of tests can be instantiated, instrumented or not.
func runtime(t testing.TB, config wazero.RuntimeConfig, k *tank) wazero.Runtime {
	t.Helper()
	ctx := context.Background()
	rt := wazero.NewRuntimeWithConfig(ctx, config.WithCoreFeatures(api.CoreFeaturesV2))
	t.Cleanup(func() { require.NoError(t, rt.Close(ctx)) })
	i32 := []api.ValueType{api.ValueTypeI32}
	_, err := rt.NewHostModuleBuilder(meter.ImportModule).NewFunctionBuilder().
		WithGoFunction(api.GoFunc(k.refuel), i32, i32).Export(meter.ImportName).Instantiate(ctx)
	require.NoError(t, err)
	_, err = rt.NewHostModuleBuilder("test").NewFunctionBuilder().
		WithFunc(func(x uint32) uint32 { return 2 * x }).Export("twice").Instantiate(ctx)
	require.NoError(t, err)
	return rt
}

func work(t testing.TB) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/work.wasm")
	require.NoError(t, err)
	return b
}

func instrumented(t testing.TB, b []byte, o meter.Options) []byte {
	t.Helper()
	out, err := meter.Instrument(b, o)
	require.NoError(t, err)
	return out
}

// Whatever the engine and however often it is asked for more, a module
// computes what it did.
func TestComputesTheSame(t *testing.T) {
	ctx := context.Background()
	calls := []struct {
		name string
		args []uint64
	}{
		{"fib", []uint64{15}},
		{"even", []uint64{501}},
		{"mixed", []uint64{0}},
		{"mixed", []uint64{1}},
		{"mixed", []uint64{2}},
		{"mixed", []uint64{103}},
		{"mixed", []uint64{2000}},
		{"ranges", []uint64{100}},
		{"ranges", []uint64{0}},
	}
	original, err := runtime(t, wazero.NewRuntimeConfigInterpreter(), &tank{}).Instantiate(ctx, work(t))
	require.NoError(t, err)
	var want []uint64
	for _, c := range calls {
		got, err := original.ExportedFunction(c.name).Call(ctx, c.args...)
		require.NoError(t, err)
		want = append(want, got...)
	}
	memory, _ := original.Memory().Read(0, 1<<16)

	for name, config := range map[string]wazero.RuntimeConfig{"interpreter": wazero.NewRuntimeConfigInterpreter(), "default": wazero.NewRuntimeConfig()} {
		for _, slice := range []int32{0, 1, 100, 1 << 20} {
			k := &tank{slice: slice, left: -1}
			m, err := runtime(t, config, k).Instantiate(ctx, instrumented(t, work(t), meter.Options{}))
			require.NoError(t, err)
			var got []uint64
			for _, c := range calls {
				r, err := m.ExportedFunction(c.name).Call(ctx, c.args...)
				require.NoError(t, err, c.name)
				got = append(got, r...)
			}
			require.Equal(t, want, got, "%s, %d", name, slice)
			same, _ := m.Memory().Read(0, 1<<16)
			require.Equal(t, memory, same)
			require.Positive(t, k.asked)
			if slice == 0 {
				require.Greater(t, k.asked, 4000, "each function and turn asks")
			}
		}
	}
}

func TestEnds(t *testing.T) {
	ctx := context.Background()
	for _, tc := range []struct {
		name string
		arg  []uint64
		want error
	}{
		{"endless", nil, errEmpty},
		{"bottomless", []uint64{1}, errDeep},
		{"fib", []uint64{40}, errEmpty},
	} {
		t.Run(tc.name, func(t *testing.T) {
			k := &tank{slice: 1 << 16, left: 10}
			m, err := runtime(t, wazero.NewRuntimeConfig(), k).Instantiate(ctx, instrumented(t, work(t), meter.Options{}))
			require.NoError(t, err)
			_, err = m.ExportedFunction(tc.name).Call(ctx, tc.arg...)
			require.ErrorIs(t, err, tc.want)
		})
	}
}

// What a range costs grows with its length, and is asked for before it is worked on.
func TestRangesArePaidByLength(t *testing.T) {
	ctx := context.Background()
	asked := func(n uint64) int {
		k := &tank{slice: 1 << 10, left: -1}
		m, err := runtime(t, wazero.NewRuntimeConfig(), k).Instantiate(ctx, instrumented(t, work(t), meter.Options{}))
		require.NoError(t, err)
		_, err = m.ExportedFunction("ranges").Call(ctx, n)
		require.NoError(t, err)
		return k.asked
	}
	require.Less(t, asked(10), 10)
	require.Greater(t, asked(30000), 64)
}

func TestTablesAreBound(t *testing.T) {
	_, err := meter.Instrument(work(t), meter.Options{Tables: 3})
	require.ErrorIs(t, err, fault.ErrLimit)
	_, err = meter.Confine(work(t), meter.Options{Tables: 3})
	require.ErrorIs(t, err, fault.ErrLimit)

	ctx := context.Background()
	for _, pass := range []func([]byte, meter.Options) ([]byte, error){meter.Instrument, meter.Confine} {
		b, err := pass(work(t), meter.Options{Tables: 5})
		require.NoError(t, err)
		m, err := runtime(t, wazero.NewRuntimeConfigInterpreter(), &tank{slice: 1000, left: -1}).Instantiate(ctx, b)
		require.NoError(t, err)
		_, err = m.ExportedFunction("ranges").Call(ctx, 1) // grows the table to 6 and uses that
		require.ErrorContains(t, err, "table")
	}
}

func TestTheCounterIsOutOfReach(t *testing.T) {
	// An invalid module that would be valid afterwards: it names the first
	// global behind its own.
	b := module(section(1, "\x01\x60\x00\x00"), section(3, "\x01\x00"), section(10, "\x01\x06\x00\x41\x00\x24\x00\x0b"))
	_, err := meter.Instrument(b, meter.Options{})
	require.ErrorIs(t, err, fault.ErrCorrupt)
	// The same of a local, and of a function.
	b = module(section(1, "\x01\x60\x00\x00"), section(3, "\x01\x00"), section(10, "\x01\x0b\x00\x03\x40\x0b\x41\x00\x21\x00\x10\x00\x0b"))
	_, err = meter.Instrument(b, meter.Options{})
	require.ErrorIs(t, err, fault.ErrCorrupt)
	b = module(section(1, "\x01\x60\x00\x00"), section(3, "\x01\x00"), section(10, "\x01\x04\x00\x10\x01\x0b"))
	_, err = meter.Instrument(b, meter.Options{})
	require.ErrorIs(t, err, fault.ErrCorrupt)
}

func TestBoundsOnWhatIsCompiled(t *testing.T) {
	var uses, branches string
	for l := range 900 {
		uses += "\x20" + leb(l) + "\x41\x01\x6a\x21" + leb(l)
		branches += "\x41\x00\x04\x40\x41\x01\x21" + leb(l) + "\x0b"
	}
	locals := "\x01" + leb(900) + "\x7f"
	loops := locals + strings.Repeat("\x03\x40", 900) + uses + "\x0c\x00" + strings.Repeat("\x0b", 901)
	targets := "\x00\x41\x00\x0e" + leb(100_000) + strings.Repeat("\x00", 100_001) + "\x0b"
	nested := strings.Repeat("\x02\x40", 2000) + strings.Repeat("\x0b", 2001)
	arity := "\x01\x60\xac\x02" + strings.Repeat("\x7f", 300) + "\x00"
	for name, tc := range map[string]struct {
		b    []byte
		want error
	}{
		"nested":   {module(section(1, "\x01\x60\x00\x00"), section(3, "\x01\x00"), section(10, "\x01"+sized("\x00"+nested))), fault.ErrLimit},
		"loops":    {module(section(1, "\x01\x60\x00\x00"), section(3, "\x01\x00"), section(10, "\x01"+sized(loops))), fault.ErrLimit},
		"branches": {module(section(1, "\x01\x60\x00\x00"), section(3, "\x01\x00"), section(10, "\x01"+sized(locals+branches+uses+"\x0b"))), fault.ErrLimit},
		"targets":  {module(section(1, "\x01\x60\x00\x00"), section(3, "\x01\x00"), section(10, "\x01"+sized(targets))), fault.ErrLimit},
		"unused":   {module(section(1, "\x01\x60\x00\x00"), section(3, leb(2000)+strings.Repeat("\x00", 2000)), section(10, leb(2000)+strings.Repeat(sized("\x01"+leb(40_000)+"\x7f\x0b"), 2000))), fault.ErrLimit},
		"arity":    {module(section(1, arity)), fault.ErrLimit},
		"locals":   {module(section(1, "\x01\x60\x00\x00"), section(3, "\x01\x00"), section(10, "\x01"+sized("\x01\xff\xff\xff\xff\x0f\x7f\x0b"))), fault.ErrLimit},
		"types":    {module(section(1, "\xff\xff\xff\xff\x0f")), fault.ErrCorrupt},
		"exports":  {module(section(7, "\xff\xff\xff\xff\x0f")), fault.ErrCorrupt},
		"elements": {module(section(9, "\x01\x01\x00\xff\xff\xff\xff\x0f")), fault.ErrCorrupt},
		"data":     {module(section(11, "\xff\xff\xff\xff\x0f")), fault.ErrCorrupt},
		"segment":  {module(section(5, "\x01\x00\x01"), section(11, "\x01\x00\x41\x00\x0b\xff\xff\xff\xff\x0f")), fault.ErrCorrupt},
		"name":     {module(section(7, "\x01\xff\xff\xff\xff\x0f\x00\x00")), fault.ErrCorrupt},
		"unknown":  {module(section(1, "\x01\x60\x00\x00"), section(3, "\x01\x00"), section(10, "\x01\x03\x00\xff\x0b")), fault.ErrUnsupported},
		"cut":      {work(t)[:500], fault.ErrCorrupt},
		"empty":    {nil, fault.ErrCorrupt},
		"sections": {module(section(3, "\x00"), section(1, "\x00")), fault.ErrCorrupt},
	} {
		_, err := meter.Instrument(tc.b, meter.Options{})
		require.ErrorIs(t, err, tc.want, name)
		if _, err := meter.Confine(tc.b, meter.Options{}); name != "nested" && name != "unknown" {
			require.ErrorIs(t, err, tc.want, name)
		}
	}
}

func module(sections ...string) []byte {
	return []byte("\x00asm\x01\x00\x00\x00" + strings.Join(sections, ""))
}

func section(id byte, content string) string { return string(id) + sized(content) }

// sized puts the length of s in front of it.
func sized(s string) string { return leb(len(s)) + s }

func leb(n int) (s string) {
	for ; n >= 0x80; n >>= 7 {
		s += string([]byte{byte(n) | 0x80})
	}
	return s + string([]byte{byte(n)})
}

// Loops that are written several times over end where they would fill memory.
func TestLoopsDoNotMultiplyForEver(t *testing.T) {
	const depth, n = 6, 5000
	nest := strings.Repeat("\x03\x40", depth) + strings.Repeat("\x0b", depth)
	b := module(section(1, "\x01\x60\x00\x00"), section(3, "\x01\x00"), section(10, "\x01"+sized("\x00"+strings.Repeat(nest, n)+"\x0b")))
	out := instrumented(t, b, meter.Options{})
	require.Less(t, len(out), 64*len(b))
	small := module(section(1, "\x01\x60\x00\x00"), section(3, "\x01\x00"), section(10, "\x01"+sized("\x00"+nest+"\x0b")))
	require.Greater(t, len(instrumented(t, small, meter.Options{})), 4096) // so they do multiply
}

// Whatever way leads back to the start of a loop, it is paid for.
func TestEveryWayBack(t *testing.T) {
	ctx := context.Background()
	for name, body := range map[string]string{
		"br":         "\x03\x40\x0c\x00\x0b",
		"br_if":      "\x03\x40\x41\x01\x0d\x00\x0b",
		"br_table":   "\x03\x40\x41\x00\x0e\x00\x00\x0b",
		"block":      "\x03\x40\x02\x40\x0c\x01\x0b\x0b",
		"if":         "\x03\x40\x41\x01\x04\x40\x0c\x01\x0b\x0b",
		"else":       "\x03\x40\x41\x00\x04\x40\x05\x0c\x01\x0b\x0b",
		"nested":     "\x03\x40\x03\x40\x0b\x0c\x00\x0b",
		"inner":      "\x03\x40\x03\x40\x0c\x01\x0b\x0b",
		"parameters": "\x41\x00\x03\x01\x0c\x00\x0b\x1a",
		"itself":     "\x10\x00",
		"through":    "\x10\x01",
		"table":      "\x41\x00\x11\x00\x00",
	} {
		b := module(
			section(1, "\x02\x60\x00\x00\x60\x01\x7f\x01\x7f"),
			section(3, "\x02\x00\x00"),
			section(4, "\x01\x70\x00\x01"),
			section(7, "\x01\x01f\x00\x00"),
			section(9, "\x01\x00\x41\x00\x0b\x01\x00"),
			section(10, "\x02"+sized("\x00"+body+"\x0b")+"\x04\x00\x10\x00\x0b"),
		)
		m, err := runtime(t, wazero.NewRuntimeConfig(), &tank{slice: 1000, left: 3}).Instantiate(ctx, instrumented(t, b, meter.Options{Stack: 1 << 20}))
		require.NoError(t, err, name)
		_, err = m.ExportedFunction("f").Call(ctx)
		require.ErrorIs(t, err, errEmpty, name)
	}
}
