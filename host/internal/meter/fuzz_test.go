package meter_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/gridhold/gridhold/host/internal/meter"
)

// Nothing makes the pass panic, and what was valid still is.
func FuzzInstrument(f *testing.F) {
	f.Add(work(f))
	examples, err := filepath.Glob("../../../testdata/plugins/*.wasm")
	require.NoError(f, err)
	require.NotEmpty(f, examples)
	for _, name := range examples {
		b, err := os.ReadFile(name)
		require.NoError(f, err)
		f.Add(b)
	}
	for _, i := range []string{"\x01", "\xfc\x0a\x00\x00", "\x03\x40\x0b", "\x11\x01\x00", "\xfd\x0c0123456789abcdef"} {
		f.Add(around(i))
	}
	ctx := context.Background()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(api.CoreFeaturesV2).WithMemoryLimitPages(16))
	f.Cleanup(func() { _ = rt.Close(ctx) })
	f.Fuzz(func(t *testing.T, b []byte) {
		out, err := meter.Instrument(b, meter.Options{})
		_, _ = meter.Confine(b, meter.Options{})
		if err != nil {
			return
		}
		c, err := rt.CompileModule(ctx, b)
		if err != nil {
			return
		}
		require.NoError(t, c.Close(ctx))
		c, err = rt.CompileModule(ctx, out)
		require.NoError(t, err)
		require.NoError(t, c.Close(ctx))
	})
}

// Programs made of the fuzzer's bytes compute what they did, and leave the
// same memory behind.
func FuzzComputesTheSame(f *testing.F) {
	for _, seed := range []string{"", "0123456789", "\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d", "\x03\x03\x03\x03\x03\x02\x01\x04\x05\x06\x07", "loop, call, return, branch: whatever comes out"} {
		f.Add([]byte(seed), uint32(12345), int32(7))
	}
	ctx := context.Background()
	f.Fuzz(func(t *testing.T, program []byte, arg uint32, slice int32) {
		if slice < 0 || len(program) > 1<<12 {
			return
		}
		b := (&generator{program: program}).module()
		k := &tank{slice: slice, left: -1}
		run := func(config wazero.RuntimeConfig, b []byte) (uint64, []byte) {
			rt := runtime(t, config, k)
			defer rt.Close(ctx)
			m, err := rt.Instantiate(ctx, b)
			require.NoError(t, err)
			got, err := m.ExportedFunction("f").Call(ctx, uint64(arg))
			require.NoError(t, err)
			memory, _ := m.Memory().Read(0, 1<<16)
			return got[0], append([]byte(nil), memory...)
		}
		want, memory := run(wazero.NewRuntimeConfigInterpreter(), b)
		require.Zero(t, k.asked)
		got, same := run(wazero.NewRuntimeConfig(), instrumented(t, b, meter.Options{}))
		require.Equal(t, want, got)
		require.Equal(t, memory, same)
	})
}

// generator makes a valid module that ends, of any bytes: functions of one
// i32 with four more as locals, each of which calls only later ones.
type generator struct {
	program []byte
	turns   byte // loops so far in the function, each with a local of its own
}

const (
	generated = 4 // functions
	most      = 8 // loops in one
)

func (g *generator) next() byte {
	if len(g.program) == 0 {
		return 0
	}
	b := g.program[0]
	g.program = g.program[1:]
	return b
}

func (g *generator) module() []byte {
	var code string
	for f := range generated {
		g.turns = 0
		statements := g.block(byte(f), 0, 6)
		// Five locals of i32, and one a loop.
		code += sized("\x01" + string([]byte{4 + most}) + "\x7f" + statements + "\x20\x01\x0b")
	}
	return module(
		section(1, "\x01\x60\x01\x7f\x01\x7f"),
		section(3, "\x04\x00\x00\x00\x00"),
		section(4, "\x01\x70\x00\x04"),
		section(5, "\x01\x00\x01"),
		section(7, "\x02\x01f\x00\x00\x06memory\x02\x00"),
		section(9, "\x01\x00\x41\x00\x0b\x04\x00\x01\x02\x03"),
		section(10, string([]byte{generated})+code),
	)
}

func (g *generator) local() string { return "\x20" + string([]byte{g.next() % 5}) }

func (g *generator) number() string { return "\x41" + string([]byte{g.next() & 0x3f}) }

// block is statements at a depth of blocks.
func (g *generator) block(f, depth byte, statements int) (s string) {
	for range statements {
		set := "\x21" + string([]byte{g.next() % 5})
		switch c := g.next(); c % 11 {
		case 0, 1: // an operation
			s += g.local() + g.local() + string([]byte{[]byte{0x6a, 0x6b, 0x6c, 0x71, 0x73, 0x48, 0x74}[g.next()%7]}) + set
		case 2:
			s += g.number() + set
		case 3: // a loop of a few turns
			if depth < 3 && g.turns < most {
				turn := string([]byte{5 + g.turns})
				g.turns++
				s += g.number() + "\x21" + turn + "\x03\x40" + g.block(f, depth+1, 3) +
					"\x20" + turn + "\x41\x01\x6b\x22" + turn + "\x41\x00\x4a\x0d\x00\x0b"
			}
		case 4: // a condition
			if depth < 3 {
				s += g.local() + "\x04\x40" + g.block(f, depth+1, 2) + "\x05" + g.block(f, depth+1, 2) + "\x0b"
			}
		case 5: // out of the function, with a result
			if depth > 0 {
				s += g.local() + "\x04\x40" + g.local() + "\x0f\x0b"
			} else {
				s += g.local() + g.local() + "\x0d" + string([]byte{depth}) + "\x1a"
			}
		case 6: // a call of a later function
			if f+1 < generated {
				s += g.local() + "\x10" + string([]byte{f + 1 + c/11%(generated-1-f)}) + set
			}
		case 7: // the same through the table
			if f+1 < generated {
				s += g.local() + "\x41" + string([]byte{f + 1 + c/11%(generated-1-f)}) + "\x11\x00\x00" + set
			}
		case 8: // fill
			s += g.number() + g.local() + g.number() + "\xfc\x0b\x00"
		case 9: // copy
			s += g.number() + g.number() + g.number() + "\xfc\x0a\x00\x00"
		case 10: // store and load
			s += g.number() + g.local() + "\x36\x02\x00" + g.number() + "\x28\x02\x00" + set
		}
	}
	return s
}
