package plugin

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/gridhold/gridhold/host/internal/meter"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// slice is how many units of the counter an instance gets at a time: some
// tenths of a millisecond, so that a deadline is noticed soon, and Go's
// collector, which waits for code that it cannot stop, does not wait long.
const slice = 1 << 20

// imports are what plugins may import.
var imports = map[string]struct {
	params, results int
	keys            bool // needs Grants.Keys
	call            func(c *call, args []uint64) int32
}{
	"read":     {4, 1, false, read},
	"read_key": {6, 1, true, readKey},
	"log":      {2, 0, false, record},
}

// What ends an instance from within an import.
var (
	errDeadline = errors.New("took too long")
	errDeep     = errors.New("functions are nested too deep")
)

// call is the context of a call that an instance is in, as imports see it.
type call struct {
	context.Context
	in     *instance
	ends   time.Time
	reads  source // what may be read; none: nil store
	budget int64  // bytes that may be read yet
	err    error  // of a read, which the plugin knows by its code only
}

// source is what a reader reads from.
type source struct {
	store   storage.Store
	key     string
	version storage.Version
	first   []byte // the first bytes of the object
	size    int64  // -1: not known
}

// export makes the host modules.
func (p *Plugin) export(ctx context.Context) error {
	b := p.runtime.NewHostModuleBuilder(Imports)
	for name, i := range imports {
		b.NewFunctionBuilder().WithGoFunction(api.GoFunc(func(ctx context.Context, stack []uint64) {
			n := i.call(ctx.(*call), stack)
			if i.results > 0 {
				stack[0] = api.EncodeI32(n)
			}
		}), i32s(i.params), i32s(i.results)).Export(name)
	}
	if _, err := b.Instantiate(ctx); err != nil {
		return err
	}
	_, err := p.runtime.NewHostModuleBuilder(meter.ImportModule).NewFunctionBuilder().
		WithGoFunction(api.GoFunc(refuel), i32s(1), i32s(1)).Export(meter.ImportName).Instantiate(ctx)
	return err
}

func i32s(n int) []api.ValueType {
	types := make([]api.ValueType, n)
	for i := range types {
		types[i] = api.ValueTypeI32
	}
	return types
}

// refuel is what the counter asks.
func refuel(ctx context.Context, stack []uint64) {
	c := ctx.(*call)
	switch {
	case int32(stack[0]) == meter.Overflow:
		panic(errDeep)
	case c.Err() != nil, time.Now().After(c.ends):
		panic(errDeadline)
	}
	stack[0] = slice
}

// read is the import read(off_lo, off_hi, ptr, len): bytes of the object.
func read(c *call, args []uint64) int32 {
	return c.read(c.reads.key, args)
}

// readKey is the import read_key(key, key_len, off_lo, off_hi, ptr, len).
func readKey(c *call, args []uint64) int32 {
	key, ok := c.in.window(uint32(args[0]), uint32(args[1]))
	if !ok || !storage.ValidKey(string(key)) {
		return int32(fault.CodeInvalid)
	}
	return c.read(string(key), args[2:])
}

func (c *call) read(key string, args []uint64) int32 {
	off := int64(args[0]&0xffffffff | args[1]<<32)
	dst, ok := c.in.window(uint32(args[2]), uint32(args[3]))
	switch {
	case !ok || off < 0:
		return int32(fault.CodeInvalid)
	case c.reads.store == nil:
		return int32(fault.CodeNotAllowed)
	case int64(len(dst)) > c.budget:
		c.err = c.in.plugin.fail(fault.ErrLimit, "reads more than "+strconv.FormatInt(c.in.plugin.o.Read, 10)+" bytes for one answer")
		return int32(fault.CodeLimit)
	}
	c.budget -= int64(len(dst))
	own := key == c.reads.key
	if own && off+int64(len(dst)) <= int64(len(c.reads.first)) {
		return int32(copy(dst, c.reads.first[off:]))
	}
	version := storage.Version("")
	if own {
		version = c.reads.version
	}
	ctx, cancel := context.WithDeadline(c.Context, c.ends)
	defer cancel()
	n, _, err := storage.ReadInto(ctx, c.reads.store, key, off, dst, version)
	if err != nil {
		c.err = err
		return int32(fault.CodeOf(err))
	}
	return int32(n)
}

// record is the import log(ptr, len).
func record(c *call, args []uint64) int32 {
	if b, ok := c.in.window(uint32(args[0]), uint32(args[1])); ok {
		c.in.plugin.o.Log.Info("plugin", "name", c.in.plugin.name(), "says", legible(b))
	}
	return 0
}

// legible is what may be shown of text that a plugin wrote.
func legible(b []byte) string {
	const most = 256
	b = b[:min(len(b), most)]
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0xfffd || r >= 0x80 && r < 0xa0 || r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return '?'
		}
		return r
	}, string(b))
}
