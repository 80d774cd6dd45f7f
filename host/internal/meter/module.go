package meter

import (
	"bytes"

	"github.com/gridhold/gridhold/sdk/fault"
)

// The sections of a module by their numbers, which are not quite their order.
const (
	sectionCustom = iota
	sectionType
	sectionImport
	sectionFunction
	sectionTable
	sectionMemory
	sectionGlobal
	sectionExport
	sectionStart
	sectionElement
	sectionCode
	sectionData
	sectionDataCount
	sections
)

// order is that in which the sections stand.
var order = [...]int{
	sectionType, sectionImport, sectionFunction, sectionTable, sectionMemory, sectionGlobal, sectionExport,
	sectionStart, sectionElement, sectionDataCount, sectionCode, sectionData,
}

var preamble = []byte("\x00asm\x01\x00\x00\x00")

// function is one that the module defines.
type function struct {
	typ  uint32
	body []byte // locals and code

	// What measure found out.
	locals   int      // with its parameters
	regions  []region // the function outside its loops, then each loop in order
	calls    []call   // those by index
	indirect bool     // it calls through a table
	ranged   bool     // it works on ranges
	taken    bool     // a table may hold it
	prepaid  bool     // its callers pay for it, but for its loops
	cyclic   bool     // it may call itself
}

type signature struct{ params, results []byte }

// module is what the pass has to know of one.
type module struct {
	section [sections][]byte // contents; nil: not there

	types           []signature
	importedFuncs   int
	importedGlobals int
	ownGlobals      int
	code            []function
	taken           []uint32 // functions that tables may hold
	order           []int    // the functions of code, those that are called before their callers

	stack int         // bytes that functions may nest to
	extra []signature // types that the pass adds
}

func (m *module) functions() int { return m.importedFuncs + len(m.code) }

func (m *module) globals() int { return m.importedGlobals + m.ownGlobals }

// moved is the index that a function has after the pass, which puts one
// import behind the others.
func (m *module) moved(i uint32) uint32 {
	if int64(i) >= int64(m.importedFuncs) {
		return i + 1
	}
	return i
}

// parse takes a module apart as far as indices go. Custom sections are left out.
func parse(b []byte) (*module, error) {
	if !bytes.HasPrefix(b, preamble) {
		return nil, fault.New(fault.ErrCorrupt, "wasm", "", "not a module of version 1")
	}
	m := &module{}
	r := &reader{b: b, pos: len(preamble)}
	next := 0
	for !r.done() {
		id := int(r.byte())
		content := r.bytes(r.u32())
		if r.err != nil {
			return nil, r.err
		}
		if id == sectionCustom {
			continue
		}
		for next < len(order) && order[next] != id {
			next++
		}
		if next == len(order) {
			if id < sections {
				return nil, fault.New(fault.ErrCorrupt, "wasm", "", "sections out of order")
			}
			return nil, fault.New(fault.ErrUnsupported, "wasm", "", "an unknown section")
		}
		next++
		if content == nil {
			content = []byte{}
		}
		m.section[id] = content
		if id != sectionStart && id != sectionDataCount {
			// wazero makes room for as many as a section says that it has.
			if c := (&reader{b: content}); c.count() >= 0 && c.err != nil {
				return nil, c.err
			}
		}
	}
	steps := []struct {
		id   int
		read func(*module, *reader)
	}{
		{sectionType, (*module).parseTypes},
		{sectionImport, (*module).parseImports},
		{sectionFunction, (*module).parseFunctions},
		{sectionCode, (*module).parseCode},
	}
	for _, s := range steps {
		if m.section[s.id] == nil {
			continue
		}
		r := &reader{b: m.section[s.id]}
		s.read(m, r)
		if err := r.end(); err != nil {
			return nil, err
		}
	}
	if m.section[sectionCode] == nil && len(m.code) > 0 {
		return nil, fault.New(fault.ErrCorrupt, "wasm", "", "functions without code")
	}
	if g := m.section[sectionGlobal]; g != nil {
		m.ownGlobals = (&reader{b: g}).count()
	}
	return m, nil
}

func (m *module) parseTypes(r *reader) {
	for range r.count() {
		if r.byte() != typeFunction {
			r.fail(fault.ErrUnsupported, "a type that is not a function's")
		}
		var s signature
		for _, to := range []*[]byte{&s.params, &s.results} {
			n := r.count()
			if n > maxArity {
				r.fail(fault.ErrLimit, "a function with too many parameters or results")
			}
			for range n {
				*to = append(*to, r.valueType())
			}
		}
		m.types = append(m.types, s)
	}
}

func (m *module) parseImports(r *reader) {
	for range r.count() {
		r.name()
		r.name()
		switch r.byte() {
		case 0:
			r.index(len(m.types), "type")
			m.importedFuncs++
		case 1:
			r.valueType()
			r.limits()
		case 2:
			r.limits()
		case 3:
			r.valueType()
			r.byte()
			m.importedGlobals++
		default:
			r.fail(fault.ErrUnsupported, "an unknown kind of import")
		}
	}
}

func (m *module) parseFunctions(r *reader) {
	for range r.count() {
		m.code = append(m.code, function{typ: r.index(len(m.types), "type")})
	}
}

func (m *module) parseCode(r *reader) {
	if r.count() != len(m.code) {
		r.corrupt("functions without code")
		return
	}
	for i := range m.code {
		m.code[i].body = r.bytes(r.u32())
	}
}

// limits reads those of a table or memory.
func (r *reader) limits() (min uint32, max uint32, bounded bool) {
	switch r.byte() {
	case 0:
		return r.u32(), 0, false
	case 1:
		min = r.u32()
		return min, r.u32(), true
	}
	r.fail(fault.ErrUnsupported, "an unknown kind of limits")
	return 0, 0, false
}
