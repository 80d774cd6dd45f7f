package host

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/wasm/wire"
)

// An import answers at once: it blocks where it has to, under the context of
// the call that the instance is in. args are its parameters; what it returns
// below zero without an error of its own is a code that needs no detail.
type imported func(c *callContext, args []uint64) (int32, error)

// export makes the host module "gridhold".
func (s *Sandbox) export(ctx context.Context) error {
	b := s.runtime.NewHostModuleBuilder("gridhold")
	for name, f := range map[string]struct {
		params int
		call   imported
	}{
		"read_ranges":  {3, readRanges},
		"list":         {3, list},
		"fetch":        {3, fetch},
		"sleep":        {2, sleep},
		"codec_open":   {4, codecOpen},
		"codec":        {7, decode},
		"cancel":       {1, cancel},
		"tick":         {1, tick},
		"error_detail": {3, errorDetail},

		"open":       {3, onPath(true, openPath)},
		"stat":       {3, onPath(true, statPath)},
		"rename":     {2, onPath(false, renamePath)},
		"remove":     {2, onPath(false, removePath)},
		"mkdir":      {2, onPath(false, mkdirPath)},
		"list_dir":   {3, onPath(true, listDirPath)},
		"sync_dir":   {2, onPath(false, syncDirPath)},
		"statfs":     {3, onPath(true, statFSPath)},
		"stat_file":  {3, onFile(statFile)},
		"read_at":    {6, onFile(readAt)},
		"write_at":   {6, onFile(writeAt)},
		"truncate":   {4, onFile(truncate)},
		"sync":       {2, onFile(syncFile)},
		"close":      {2, closeFile},
		"allocate":   {6, onFile(allocateFile)},
		"punch":      {6, onFile(punchFile)},
		"lock_range": {5, onFile(lockRange)},
		"copy":       {3, copyFile},
		"lock":       {3, lockFile},
		"unlock":     {2, unlockFile},
	} {
		params := make([]api.ValueType, f.params)
		for i := range params {
			params[i] = api.ValueTypeI32
		}
		b.NewFunctionBuilder().WithGoModuleFunction(lower(f.call), params, []api.ValueType{api.ValueTypeI32}).Export(name)
	}
	i32 := api.ValueTypeI32
	b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(record), []api.ValueType{i32, i32, i32}, nil).Export("log")
	_, err := b.Instantiate(ctx)
	return err
}

// lower catches what f throws, keeps its error until the guest asks for the
// detail, and answers a code: nothing may be thrown through the guest.
func lower(f imported) api.GoModuleFunc {
	return func(ctx context.Context, _ api.Module, stack []uint64) {
		c := ctx.(*callContext)
		token := uint32(stack[0])
		var err error
		defer func() {
			if p := recover(); p != nil {
				err = fault.Recovered(p)
			}
			if err != nil {
				c.in.details[token] = err
				stack[0] = api.EncodeI32(int32(fault.CodeOf(err)))
			}
		}()
		var n int32
		c.spent.Imports++
		n, err = f(c, stack)
		stack[0] = api.EncodeI32(n)
	}
}

// window is n bytes of the guest's memory, which hold until the import
// returns. Only the low halves of at and n count: wazero leaves what it likes
// in the rest of an i32.
func (in *instance) window(at, n uint64) ([]byte, error) {
	b, ok := in.memory.Read(uint32(at), uint32(n))
	if !ok {
		return nil, fault.New(fault.ErrInvalid, "guest", "", "names bytes outside its memory")
	}
	return b[:len(b):len(b)], nil
}

func sleep(c *callContext, args []uint64) (int32, error) {
	t := time.NewTimer(time.Duration(uint32(args[1])) * time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
		return 0, nil
	case <-c.Done():
		return int32(fault.CodeCancelled), nil
	}
}

// cancel is never called, as no import is pending; nothing is to be undone.
func cancel(*callContext, []uint64) (int32, error) { return wire.Released, nil }

func tick(c *callContext, _ []uint64) (int32, error) {
	if c.Err() != nil {
		return 1, nil
	}
	return 0, nil
}

func errorDetail(c *callContext, args []uint64) (int32, error) {
	token := uint32(args[0])
	err := c.in.details[token]
	if err == nil {
		return 0, nil
	}
	delete(c.in.details, token)
	into, bad := c.in.window(args[1], args[2])
	if bad != nil {
		return 0, nil
	}
	d := fault.DetailOf(err)
	b, _ := json.Marshal(d)
	if len(b) > len(into) { // only its texts can be that long
		d.Text, d.Item = cut(d.Text, len(into)/8), cut(d.Item, len(into)/8)
		if b, _ = json.Marshal(d); len(b) > len(into) {
			return 0, nil
		}
	}
	return int32(copy(into, b)), nil
}

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return fmt.Sprintf("%.*s…", n, s)
}

func record(ctx context.Context, _ api.Module, stack []uint64) {
	c := ctx.(*callContext)
	text, err := c.in.window(stack[1], stack[2])
	if err != nil {
		return
	}
	level := slog.LevelWarn
	if stack[0] > 1 {
		level = slog.LevelError
	}
	c.in.sandbox.config.Log.Log(c.Context, level, string(text))
}
