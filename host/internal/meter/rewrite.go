package meter

// rewrite makes the new code section.
func (m *module) rewrite() error {
	if m.section[sectionCode] == nil {
		return nil
	}
	out := appendU32(nil, uint32(len(m.code)))
	var body []byte
	for i := range m.code {
		var err error
		if body, err = m.rewriteFunction(body[:0], &m.code[i]); err != nil {
			return err
		}
		out = append(appendU32(out, uint32(len(body))), body...)
	}
	m.section[sectionCode] = out
	return nil
}

// writer makes the new code of one function.
type writer struct {
	m   *module
	f   *function
	out []byte
}

// kept reports whether the function keeps the counter in a local.
func (f *function) kept() bool { return f.loops || f.ranged }

// wrapped reports whether there is something to do as the function returns.
func (f *function) wrapped() bool { return f.kept() || f.cyclic }

func (m *module) rewriteFunction(out []byte, f *function) ([]byte, error) {
	w := &writer{m, f, out}
	r := &reader{b: f.body}
	w.locals(r)
	if !f.leaf {
		w.enter()
	}
	region, depth := 0, 1
	for depth > 0 && r.err == nil {
		i := r.instruction(m, f.locals)
		switch {
		case i.op == opBlock, i.op == opIf:
			depth++
			w.out = m.copy(w.out, r, i)
		case i.op == opLoop:
			depth++
			region++
			w.out = m.copy(w.out, r, i)
			w.op(opLocalGet, w.fuel())
			w.charge(f.costs[region])
		case i.op == opEnd:
			depth--
			w.out = m.copy(w.out, r, i)
		case i.op == opReturn && f.wrapped():
			w.op(opBr, uint32(depth-1))
		case i.op == opCall, i.op == opCallIndirect:
			w.call(r, i)
		case i.ranged():
			w.chargeRange()
			w.out = m.copy(w.out, r, i)
		default:
			w.out = m.copy(w.out, r, i)
		}
	}
	if f.wrapped() && r.err == nil {
		w.leave() // that end was the wrapper's
	}
	return w.out, r.end()
}

// locals copies the function's, and adds the counter and the length of a range.
func (w *writer) locals(r *reader) {
	n := r.count()
	count, add := uint32(n), uint32(0)
	if w.f.kept() {
		count, add = count+1, 1
	}
	if w.f.ranged {
		add++
	}
	w.out = appendU32(w.out, count)
	at := r.pos
	for range n {
		r.u32()
		r.byte()
	}
	w.out = append(w.out, r.b[at:r.pos]...)
	if add > 0 {
		w.out = append(appendU32(w.out, add), typeI32)
	}
}

func (w *writer) fuel() uint32 { return uint32(w.f.locals) }

func (w *writer) length() uint32 { return uint32(w.f.locals) + 1 }

// op appends an instruction that names one thing.
func (w *writer) op(op byte, index uint32) { w.out = appendU32(append(w.out, op), index) }

func (w *writer) number(v int32) { w.out = appendS32(append(w.out, opI32Const), v) }

// below begins a block that is entered if the number on the stack is below zero.
func (w *writer) below() {
	w.number(0)
	w.out = append(w.out, opI32LtS, opIf, typeEmpty)
}

// enter is what comes before the function's code.
func (w *writer) enter() {
	m, f := w.m, w.f
	if f.cyclic {
		w.op(opGlobalGet, m.room())
		w.number(f.frame())
		w.out = append(w.out, opI32Sub)
		w.op(opGlobalSet, m.room())
		w.op(opGlobalGet, m.room())
		w.below()
		w.number(Overflow)
		w.op(opCall, m.refuel())
		w.out = append(w.out, opDrop, opUnreachable, opEnd)
	}
	w.op(opGlobalGet, m.fuel())
	if f.kept() {
		w.charge(f.costs[0])
	} else {
		w.number(int32(f.costs[0]))
		w.out = append(w.out, opI32Sub)
		w.op(opGlobalSet, m.fuel())
		w.op(opGlobalGet, m.fuel())
		w.below()
		w.op(opGlobalGet, m.fuel())
		w.op(opCall, m.refuel())
		w.op(opGlobalSet, m.fuel())
		w.out = append(w.out, opEnd)
	}
	if f.wrapped() {
		w.out = append(w.out, opBlock)
		switch results := m.types[f.typ].results; len(results) {
		case 0:
			w.out = append(w.out, typeEmpty)
		case 1:
			w.out = append(w.out, results[0])
		default:
			w.out = appendS32(w.out, int32(m.added(signature{nil, results})))
		}
	}
}

// leave is what comes after the function's code.
func (w *writer) leave() {
	if w.f.kept() {
		w.op(opLocalGet, w.fuel())
		w.op(opGlobalSet, w.m.fuel())
	}
	if w.f.cyclic {
		w.op(opGlobalGet, w.m.room())
		w.number(w.f.frame())
		w.out = append(w.out, opI32Add)
		w.op(opGlobalSet, w.m.room())
	}
	w.out = append(w.out, opEnd)
}

// frame estimates how many bytes of stack the function takes: its locals, and
// what may have to be kept of its calculations.
func (f *function) frame() int32 {
	return int32(64 + 16*f.locals + 2*min(len(f.body), 1<<28))
}

// charge takes a cost from the counter on the stack, and puts the rest where
// the function keeps it.
func (w *writer) charge(cost int) {
	w.number(int32(min(cost, 1<<28)))
	w.settle()
}

// chargeRange takes a sixteenth of the length on the stack, and leaves it there.
func (w *writer) chargeRange() {
	w.op(opLocalTee, w.length())
	w.op(opLocalGet, w.fuel())
	w.op(opLocalGet, w.length())
	w.number(4)
	w.out = append(w.out, opI32ShrU)
	w.settle()
}

// settle subtracts, keeps the rest, and asks for more if that is below zero.
func (w *writer) settle() {
	w.out = append(w.out, opI32Sub)
	w.op(opLocalTee, w.fuel())
	w.below()
	w.op(opLocalGet, w.fuel())
	w.op(opCall, w.m.refuel())
	w.op(opLocalSet, w.fuel())
	w.out = append(w.out, opEnd)
}

// call copies a call. Functions that pay for themselves find the counter in
// its global.
func (w *writer) call(r *reader, i instruction) {
	free := i.op == opCall && (int(i.index) < w.m.importedFuncs || w.m.code[int(i.index)-w.m.importedFuncs].leaf)
	if free || !w.f.kept() {
		w.out = w.m.copy(w.out, r, i)
		return
	}
	w.op(opLocalGet, w.fuel())
	w.op(opGlobalSet, w.m.fuel())
	w.out = w.m.copy(w.out, r, i)
	w.op(opGlobalGet, w.m.fuel())
	w.op(opLocalSet, w.fuel())
}
