package meter

// addCounters puts the two counters behind the module's globals.
func (m *module) addCounters() error {
	r := &reader{b: m.section[sectionGlobal]}
	n := 0
	if len(r.b) > 0 {
		n = r.count()
	}
	out := appendU32(nil, uint32(n)+2)
	for range n {
		out = append(out, r.valueType(), r.byte())
		out = m.constant(out, r)
	}
	out = append(out, typeI32, 1, opI32Const, 0, opEnd) // the first charge asks for more
	out = append(out, typeI32, 1, opI32Const)
	out = append(appendS32(out, int32(m.stack)), opEnd)
	m.section[sectionGlobal] = out
	return r.end()
}

// The indices of what the pass adds.
func (m *module) fuel() uint32 { return uint32(m.globals()) }

func (m *module) room() uint32 { return uint32(m.globals()) + 1 }

func (m *module) refuel() uint32 { return uint32(m.importedFuncs) }

// constant copies a constant expression.
func (m *module) constant(out []byte, r *reader) []byte {
	for r.err == nil {
		i := r.instruction(m, 0)
		if i.op == opRefFunc {
			m.taken = append(m.taken, i.index)
		}
		out = m.copy(out, r, i)
		if i.op == opEnd {
			break
		}
	}
	return out
}

// copy appends an instruction as it was read, with the functions that it
// names under their new index.
func (m *module) copy(out []byte, r *reader, i instruction) []byte {
	if i.op == opCall || i.op == opRefFunc {
		return appendU32(append(out, i.op), m.moved(i.index))
	}
	if r.err != nil {
		return out
	}
	return append(out, r.b[i.at:r.pos]...)
}

func (m *module) moveElements() error {
	if m.section[sectionElement] == nil {
		return nil
	}
	r := &reader{b: m.section[sectionElement]}
	n := r.count()
	out := appendU32(nil, uint32(n))
	for range n {
		// Bit 0: not active; bit 1: names its table, or is declarative; bit 2: of expressions.
		kind := r.u32()
		if kind > 7 {
			r.corrupt("an unknown kind of elements")
			break
		}
		out = appendU32(out, kind)
		if kind&1 == 0 {
			if kind&2 != 0 {
				out = appendU32(out, r.u32())
			}
			out = m.constant(out, r)
		}
		if kind&3 != 0 {
			out = append(out, r.byte()) // the kind or type of the elements
		}
		count := r.count()
		out = appendU32(out, uint32(count))
		for range count {
			if kind&4 != 0 {
				out = m.constant(out, r)
				continue
			}
			f := r.index(m.functions(), "function")
			m.taken = append(m.taken, f)
			out = appendU32(out, m.moved(f))
		}
	}
	m.section[sectionElement] = out
	return r.end()
}

func (m *module) moveExports() error {
	if m.section[sectionExport] == nil {
		return nil
	}
	r := &reader{b: m.section[sectionExport]}
	n := r.count()
	out := appendU32(nil, uint32(n))
	for range n {
		out = appendName(out, r.name())
		kind, index := r.byte(), r.u32()
		if kind == 0 {
			index = m.moved(index)
		}
		out = appendU32(append(out, kind), index)
	}
	m.section[sectionExport] = out
	return r.end()
}

func (m *module) moveStart() error {
	if m.section[sectionStart] == nil {
		return nil
	}
	r := &reader{b: m.section[sectionStart]}
	m.section[sectionStart] = appendU32(nil, m.moved(r.u32()))
	return r.end()
}

// checkData makes sure that segments of data are as long as they say.
func (m *module) checkData() error {
	if m.section[sectionData] == nil {
		return nil
	}
	r := &reader{b: m.section[sectionData]}
	for range r.count() {
		kind := r.u32()
		switch kind {
		case 0, 2:
			if kind == 2 {
				r.u32()
			}
			m.constant(nil, r)
		case 1:
		default:
			r.corrupt("an unknown kind of data")
		}
		r.bytes(r.u32())
	}
	return r.end()
}

// addImport puts the function that refuels behind the other imports, and the
// types that were added behind the others.
func (m *module) addImport() {
	imports := &reader{b: m.section[sectionImport]}
	n := uint32(0)
	if len(imports.b) > 0 {
		n = imports.u32()
	}
	out := append(appendU32(nil, n+1), imports.b[imports.pos:]...)
	out = append(appendName(appendName(out, ImportModule), ImportName), 0)
	m.section[sectionImport] = appendU32(out, m.added(signature{[]byte{typeI32}, []byte{typeI32}}))

	types := &reader{b: m.section[sectionType]}
	n = 0
	if len(types.b) > 0 {
		n = types.u32()
	}
	out = append(appendU32(nil, n+uint32(len(m.extra))), types.b[types.pos:]...)
	for _, s := range m.extra {
		out = append(out, typeFunction)
		for _, list := range [][]byte{s.params, s.results} {
			out = append(appendU32(out, uint32(len(list))), list...)
		}
	}
	m.section[sectionType] = out
}

// added is the index of a type that the pass needs.
func (m *module) added(s signature) uint32 {
	for i, e := range m.extra {
		if string(e.params) == string(s.params) && string(e.results) == string(s.results) {
			return uint32(len(m.types) + i)
		}
	}
	m.extra = append(m.extra, s)
	return uint32(len(m.types) + len(m.extra) - 1)
}
