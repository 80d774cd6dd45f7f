package meter_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/gridhold/gridhold/host/internal/meter"
	"github.com/gridhold/gridhold/sdk/fault"
)

// around is a module whose only function has an instruction where any
// operands fit, and all that it may name: two memories' worth of types,
// locals, globals, segments.
func around(instruction string) []byte {
	body := "\x02\x01\x7f\x01\x70" + "\x00" + instruction + "\x00\x0b" // unreachable, it, unreachable
	return module(
		section(1, "\x02\x60\x00\x00\x60\x01\x7f\x01\x7f"),
		section(3, "\x01\x00"),
		section(4, "\x02\x70\x00\x01\x6f\x00\x01"),
		section(5, "\x01\x00\x01"),
		section(6, "\x01\x7f\x01\x41\x00\x0b"),
		section(7, "\x01\x01f\x00\x00"),
		section(9, "\x01\x01\x00\x01\x00"),
		section(12, "\x01"),
		section(10, "\x01"+sized(body)),
		section(11, "\x01\x01\x01x"),
	)
}

// Whatever instruction wazero takes, with whatever behind it, the pass walks
// and leaves valid.
func TestEveryInstruction(t *testing.T) {
	ctx := context.Background()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(api.CoreFeaturesV2))
	defer rt.Close(ctx)
	valid := func(b []byte) bool {
		c, err := rt.CompileModule(ctx, b)
		if err == nil {
			require.NoError(t, c.Close(ctx))
		}
		return err == nil
	}
	behind := []string{"", "\x00", "\x01", "\x00\x00", "\x00\x01", "\x01\x00", "\x01\x01", "\x00\x00\x00", "\x80\x7f", "\xff\xff\xff\xff\x07", "\x02\x00\x00\x00",
		"\x70", "\x01\x70", "\x40\x0b", "\x7f\x00\x0b", "\x01\x41\x00\x0b", "\x00\x0b", "\x40\x05\x0b", "0123", "01234567", "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f",
		"\x00\xff\xff\xff\xff\x0f", "\x00\x00\x07"}
	// As numbers are written that need two bytes, and needlessly so.
	names := make([]string, 0, 700)
	for op := range 256 {
		names = append(names, string([]byte{byte(op)}))
	}
	for _, prefix := range []byte{0xfc, 0xfd} {
		for sub := range 300 {
			leb := []byte{byte(sub)}
			if sub >= 128 {
				leb = []byte{byte(sub) | 0x80, byte(sub >> 7)}
			}
			names = append(names, string(append([]byte{prefix}, leb...)))
			names = append(names, string([]byte{prefix, byte(sub) | 0x80, 0}))
		}
	}
	walked := map[string]bool{}
	for _, name := range names {
		for _, imm := range behind {
			b := around(name + imm)
			if !valid(b) {
				_, _ = meter.Instrument(b, meter.Options{}) // must not panic
				continue
			}
			out, err := meter.Instrument(b, meter.Options{})
			if len(name) == 3 && name[2] != 1 {
				// wazero reads another instruction, and then a second one.
				require.ErrorIs(t, err, fault.ErrUnsupported)
				continue
			}
			require.NoError(t, err, "%x %x", name, imm)
			require.True(t, valid(out), "%x %x", name, imm)
			walked[name] = true
		}
	}
	// 0xc5 opcodes less the gaps; 18 behind 0xfc; 236 vector instructions.
	require.Greater(t, len(walked), 170+18+230)
	t.Logf("%d instructions", len(walked))
}
