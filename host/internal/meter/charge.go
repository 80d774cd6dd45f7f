package meter

// locals copies the function's, and adds one for the length of a range.
func (w *writer) locals(r *reader) {
	n := r.count()
	count := uint32(n)
	if w.f.ranged {
		count++
	}
	w.out = appendU32(w.out, count)
	at := r.pos
	for range n {
		r.u32()
		r.byte()
	}
	w.out = append(w.out, r.b[at:r.pos]...)
	if w.f.ranged {
		w.out = append(w.out, 1, typeI32)
	}
}

// length is the local that the pass adds.
func (w *writer) length() uint32 { return uint32(w.f.locals) }

// op appends an instruction that names one thing.
func (w *writer) op(op byte, index uint32) { w.out = appendU32(append(w.out, op), index) }

func (w *writer) number(v int32) { w.out = appendS32(append(w.out, opI32Const), v) }

// enter is what comes before the function's code.
func (w *writer) enter() {
	m, f := w.m, w.f
	if f.cyclic {
		w.op(opGlobalGet, m.room())
		w.number(f.frame())
		w.out = append(w.out, opI32Sub)
		w.op(opGlobalSet, m.room())
		w.below(m.room())
		w.number(Overflow)
		w.op(opCall, m.refuel())
		w.out = append(w.out, opDrop, opUnreachable, opEnd)
	}
	if !f.prepaid {
		w.charge(f.regions[0].cost)
	}
	if f.cyclic {
		var typ []byte
		switch results := m.types[f.typ].results; len(results) {
		case 0:
			typ = []byte{typeEmpty}
		case 1:
			typ = results
		default:
			typ = appendS32(nil, int32(m.added(signature{nil, results})))
		}
		w.open(opBlock, typ)
	}
}

// leave is what comes after the code of a function that may call itself.
func (w *writer) leave() {
	w.op(opGlobalGet, w.m.room())
	w.number(w.f.frame())
	w.out = append(w.out, opI32Add)
	w.op(opGlobalSet, w.m.room())
	w.out = append(w.out, opEnd)
}

// frame estimates how many bytes of stack the function takes: its locals, and
// what may have to be kept of its calculations.
func (f *function) frame() int32 {
	return int32(64 + 16*f.locals + 2*min(len(f.body), 1<<28))
}

// charge takes a cost from the counter.
func (w *writer) charge(cost int) {
	w.op(opGlobalGet, w.m.fuel())
	w.number(int32(min(cost, 1<<28)))
	w.settle()
}

// chargeRange takes a sixteenth of the length on the stack, and leaves it there.
func (w *writer) chargeRange() {
	w.op(opLocalSet, w.length())
	w.op(opGlobalGet, w.m.fuel())
	w.op(opLocalGet, w.length())
	w.number(4)
	w.out = append(w.out, opI32ShrU)
	w.settle()
	w.op(opLocalGet, w.length())
}

// settle subtracts, and asks for more if what is left is below zero.
func (w *writer) settle() {
	fuel := w.m.fuel()
	w.out = append(w.out, opI32Sub)
	w.op(opGlobalSet, fuel)
	w.below(fuel)
	w.op(opGlobalGet, fuel)
	w.op(opCall, w.m.refuel())
	w.op(opGlobalSet, fuel)
	w.out = append(w.out, opEnd)
}

// below begins a block that is left again unless a counter is below zero. It is
// no if: the compiler prepares what follows a block for those who skip it,
// and what follows an if for those who were in it.
func (w *writer) below(global uint32) {
	w.out = append(w.out, opBlock, typeEmpty)
	w.op(opGlobalGet, global)
	w.number(0)
	w.out = append(w.out, opI32GeS)
	w.op(opBrIf, 0)
}
