package meter

import (
	"math"
	"strconv"

	"github.com/gridhold/gridhold/sdk/fault"
)

// The import that the pass adds: a function from i32 to i32. It is called
// with the counter, which is below zero by what could not be paid, and
// returns the counter to go on with, at least zero; it ends the module by a
// panic. Called with Overflow, it must panic: functions are nested too deep.
const (
	ImportModule = "gridhold_meter"
	ImportName   = "refuel"

	Overflow = math.MinInt32
)

// Options are those of the pass.
type Options struct {
	// Tables is how many elements all tables of the module may have together;
	// 0: 65536. More at the start is ErrLimit.
	Tables int
	// Stack is how many bytes functions may nest to, by an estimate that is
	// larger than what the compiler needs for ordinary code; 0: 1 MiB. It is
	// kept for functions that may call themselves, the only ones that can
	// nest without bound.
	Stack int
	// Work is how much work the compiler may have with the module, by an
	// estimate; 0: 524288, a second or two. More is ErrLimit.
	Work int
}

const (
	// maxArity bounds the parameters and the results of a function: the
	// compiler's work grows with them at each block.
	maxArity = 256
	// maxLocals is how many a function may have; wazero would make room for 2^32.
	maxLocals = 50_000
	// maxDepth bounds how deep blocks are nested, at which the compiler's work grows too.
	maxDepth = 1024
)

// Instrument returns the module with the counters in it. The module must be
// valid: what is invalid may be so afterwards, or be ErrCorrupt. ErrLimit: a
// bound above, or of the options. ErrUnsupported: the module, or what it
// would become, is not one that the pass knows; see [Confine]. Nothing of the
// module is trusted, and little memory is taken: what is refused here should
// not reach wazero.
func Instrument(wasm []byte, o Options) ([]byte, error) {
	m, err := parse(wasm)
	if err != nil {
		return nil, err
	}
	if m.stack = o.Stack; m.stack == 0 {
		m.stack = 1 << 20
	}
	steps := []func() error{
		func() error { return m.weigh(o) },
		func() error { return m.capTables(o) },
		m.addCounters,
		m.moveElements,
		m.moveExports,
		m.moveStart,
		m.checkData,
		m.measure,
		m.findCycles,
		m.price,
		m.rewrite,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
	}
	m.addImport()
	return m.bytes(), nil
}

// Confine returns the module with its tables bound and nothing counted, for
// those that Instrument gives up. Custom sections are left out by both.
func Confine(wasm []byte, o Options) ([]byte, error) {
	m, err := parse(wasm)
	if err != nil {
		return nil, err
	}
	elements, exports := m.section[sectionElement], m.section[sectionExport]
	for _, step := range []func() error{
		func() error { return m.weigh(o) },
		func() error { return m.capTables(o) },
		m.moveElements, // these for their checks
		m.moveExports,
		m.checkData,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	m.section[sectionElement], m.section[sectionExport] = elements, exports
	return m.bytes(), nil
}

// bytes puts the module together.
func (m *module) bytes() []byte {
	out := append([]byte(nil), preamble...)
	for _, id := range order {
		if content := m.section[id]; content != nil {
			out = append(out, byte(id))
			out = appendU32(out, uint32(len(content)))
			out = append(out, content...)
		}
	}
	return out
}

// capTables gives each table a maximum, so that they keep to the bound together.
func (m *module) capTables(o Options) error {
	if m.section[sectionTable] == nil {
		return nil
	}
	all := o.Tables
	if all == 0 {
		all = 1 << 16
	}
	r := &reader{b: m.section[sectionTable]}
	n := r.count()
	out := appendU32(nil, uint32(n))
	most := uint32(min(all/max(n, 1), math.MaxInt32))
	for range n {
		out = append(out, r.valueType())
		low, high, bounded := r.limits()
		if r.err == nil && low > most {
			return fault.New(fault.ErrLimit, "wasm", "", "tables of more elements than "+strconv.Itoa(all))
		}
		if !bounded || high > most {
			high = most
		}
		out = appendU32(append(out, 1), low)
		out = appendU32(out, high)
	}
	m.section[sectionTable] = out
	return r.end()
}

// end returns the reader's error, or one if something is left.
func (r *reader) end() error {
	if r.err == nil && !r.done() {
		r.corrupt("bytes after the end of a section")
	}
	return r.err
}
