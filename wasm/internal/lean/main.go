// Command lean takes file names and line numbers out of a wasm module that
// Go built: a sixth of what it weighs when it is packed, and of use only in
// the stack trace of a crash, which still names its functions.
//
// Go's linker has no option for that. The tables are those of runtime/symtab.go:
// each function has offsets of byte streams in pctab, and 0 there means "no
// such table", which the runtime shows as "?". Whatever is not as expected
// is refused.
package main

import (
	"encoding/binary"
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "lean:", err)
		os.Exit(1)
	}
}

func run(name string) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	m, err := parse(b)
	if err != nil {
		return err
	}
	image := m.image()
	if err := strip(image); err != nil {
		return err
	}
	return os.WriteFile(name, m.write(image), 0o644)
}

var le = binary.LittleEndian

// header is where things lie in pclntab, relative to its start.
type header struct {
	at                                    int // in the image
	functions                             int
	names, units, files, streams, entries int
}

const (
	magic      = 0xfffffff1
	headerSize = 72
	// Offsets in runtime._func.
	funcPCSP, funcPCFile, funcPCLine, funcNPCData, funcUnit, funcStartLine, funcSize = 16, 20, 24, 28, 32, 36, 44
)

// find looks for the one header of pclntab.
func find(image []byte) (h header, err error) {
	found := 0
	for at := 0; at+headerSize <= len(image); at += 8 {
		b := image[at:]
		if le.Uint32(b) != magic || b[4] != 0 || b[5] != 0 || b[6] != 1 || b[7] != 8 {
			continue
		}
		var v [8]int
		for i := range v {
			v[i] = int(le.Uint64(b[8+8*i:]))
		}
		ordered := v[3] >= headerSize && v[3] < v[4] && v[4] < v[5] && v[5] < v[6] && v[6] < v[7] && at+v[7] < len(image)
		if v[0] > 0 && v[0] < 1<<20 && ordered {
			h = header{at, v[0], v[3], v[4], v[5], v[6], v[7]}
			found++
		}
	}
	if found != 1 {
		return h, fmt.Errorf("%d tables of functions where one was expected", found)
	}
	return h, nil
}

// strip takes files and lines out of the image of the memory.
func strip(image []byte) error {
	h, err := find(image)
	if err != nil {
		return err
	}
	table := image[h.at:]
	streams := table[h.streams:h.entries]
	used := make([]bool, len(streams))
	used[0] = true
	keep := func(off uint32) error {
		if off == 0 {
			return nil
		}
		n, err := streamLen(streams, int(off))
		for i := range n {
			used[int(off)+i] = true
		}
		return err
	}
	entries := table[h.entries:]
	for i := range h.functions {
		if 8*i+8 > len(entries) {
			return fmt.Errorf("function %d: no entry", i)
		}
		at := int(le.Uint32(entries[8*i+4:]))
		if at+funcSize > len(entries) {
			return fmt.Errorf("function %d lies outside the table", i)
		}
		f := entries[at:]
		n := int(le.Uint32(f[funcNPCData:]))
		if n > 16 || at+funcSize+4*n > len(entries) {
			return fmt.Errorf("function %d: %d tables", i, n)
		}
		if err := keep(le.Uint32(f[funcPCSP:])); err != nil {
			return fmt.Errorf("function %d: %w", i, err)
		}
		for k := range n {
			if err := keep(le.Uint32(f[funcSize+4*k:])); err != nil {
				return fmt.Errorf("function %d: %w", i, err)
			}
		}
		for _, field := range []int{funcPCFile, funcPCLine, funcUnit, funcStartLine} {
			le.PutUint32(f[field:], 0)
		}
	}
	for i := range streams {
		if !used[i] {
			streams[i] = 0
		}
	}
	clear(table[h.units:h.streams]) // which file a number means, and the names of files
	return nil
}

// streamLen is the length of a stream: pairs of varints, the first of a pair
// 0 at the end, but for the first pair.
func streamLen(b []byte, off int) (int, error) {
	if off >= len(b) {
		return 0, fmt.Errorf("a stream at %d of %d", off, len(b))
	}
	at := off
	for first := true; ; first = false {
		v, n := binary.Uvarint(b[at:])
		if n <= 0 {
			return 0, fmt.Errorf("a stream at %d does not end", off)
		}
		at += n
		if v == 0 && !first {
			return at - off, nil
		}
		if _, n = binary.Uvarint(b[at:]); n <= 0 {
			return 0, fmt.Errorf("a stream at %d does not end", off)
		}
		at += n
	}
}
