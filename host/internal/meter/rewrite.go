package meter

// rewrite makes the new code section.
func (m *module) rewrite() error {
	if m.section[sectionCode] == nil {
		return nil
	}
	out := appendU32(nil, uint32(len(m.code)))
	var body []byte
	for i := range m.code {
		w := &writer{m: m, f: &m.code[i], out: body[:0], before: len(out)}
		if err := w.function(); err != nil {
			return err
		}
		body = w.out
		out = append(appendU32(out, uint32(len(body))), body...)
	}
	m.section[sectionCode] = out
	return nil
}

// writer makes the new code of one function.
type writer struct {
	m      *module
	f      *function
	out    []byte
	level  int   // blocks of the new code that are open, the function not counted
	labels []int // for each block of the old code that is open, the level that a branch to it goes to
	region int   // of the last loop that was begun
	before int   // bytes of the functions before this one
}

func (w *writer) function() error {
	r := &reader{b: w.f.body}
	w.locals(r)
	w.enter()
	w.labels = append(w.labels, w.level)
	w.block(r)
	w.out = append(w.out, opEnd)
	if w.f.cyclic {
		w.leave() // that was the end of the wrapper
	}
	return r.end()
}

// block writes what is in a block, up to its end, which it reads.
func (w *writer) block(r *reader) {
	for r.err == nil {
		i := r.instruction(w.m, w.f.locals)
		switch i.op {
		case opEnd:
			return
		case opBlock, opIf:
			w.open(i.op, r.b[i.at+1:r.pos])
			w.labelled(r)
			w.close()
		case opLoop:
			w.loop(r, r.b[i.at+1:r.pos])
		case opBr, opBrIf:
			w.op(i.op, w.label(i.index))
		case opBrTable:
			t := &reader{b: r.b[:r.pos], pos: i.at + 1}
			n := t.u32()
			w.op(opBrTable, n)
			for range int64(n) + 1 {
				w.out = appendU32(w.out, w.label(t.u32()))
			}
		case opReturn:
			if w.f.cyclic {
				w.op(opBr, w.label(uint32(len(w.labels)-1)))
			} else {
				w.out = append(w.out, opReturn)
			}
		default:
			if i.ranged() {
				w.chargeRange()
			}
			w.out = w.m.copy(w.out, r, i)
		}
	}
}

// labelled is block, for one whose label is the innermost block of the new code.
func (w *writer) labelled(r *reader) {
	w.labels = append(w.labels, w.level)
	w.block(r)
	w.labels = w.labels[:len(w.labels)-1]
}

// label is the number that a label has in the new code.
func (w *writer) label(old uint32) uint32 {
	if int64(old) >= int64(len(w.labels)) {
		return old // not valid
	}
	return uint32(w.level - w.labels[len(w.labels)-1-int(old)])
}

func (w *writer) open(op byte, typ []byte) {
	w.out = append(append(w.out, op), typ...)
	w.level++
}

func (w *writer) close() {
	w.out = append(w.out, opEnd)
	w.level--
}

// Loops of which a turn has no more than unrolledSize instructions are written with so
// many turns in a row: to ask costs as much as the turn of a short loop. Loops
// within loops multiply, so that there is an end to it where the code has grown
// to unrolledGrowth times what it was, and some more.
const (
	unrolledSize   = 400
	unrolledTurns  = 4
	unrolledGrowth = 4
	unrolledMore   = 64 << 10
)

// loop writes a loop. Its first turns are paid for by what is around it:
//
//	block            ;; what leaves the loop goes here
//	  loop
//	    block        ;; a turn: to begin the next one is to leave this block
//	      …
//	      br 2
//	    end
//	    …            ;; more turns
//	    …            ;; pays for the next ones
//	    br 0
//	  end
//	  unreachable
//	end
//
// One with parameters, which are rare, pays as it begins.
func (w *writer) loop(r *reader, typ []byte) {
	w.region++
	g := w.f.regions[w.region]
	if g.params {
		w.open(opLoop, typ)
		w.charge(g.cost)
		w.labelled(r)
		w.close()
		return
	}
	w.open(opBlock, typ)
	w.open(opLoop, []byte{typeEmpty})
	start, first, turns := r.pos, w.region, g.turns()
	if w.before+len(w.out) > unrolledGrowth*len(w.m.section[sectionCode])+unrolledMore {
		turns = 1 // what is around it pays for more
	}
	for range turns {
		r.pos, w.region = start, first
		w.open(opBlock, []byte{typeEmpty})
		w.labelled(r)
		w.op(opBr, 2)
		w.close()
		if r.err != nil {
			return
		}
	}
	w.charge(turns * g.cost)
	w.op(opBr, 0)
	w.close()
	w.out = append(w.out, opUnreachable)
	w.close()
}
