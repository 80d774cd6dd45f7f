package meter

import (
	"math"
	"strconv"

	"github.com/gridhold/gridhold/sdk/fault"
)

// weigh estimates what the module costs to compile, which cannot be
// interrupted, and refuses what costs too much. The compiler's work grows with
// the blocks of a function times the locals that it uses: each value is looked
// for where branches meet. It grows with the square of the targets of a
// function's tables of branches.
func (m *module) weigh(o Options) error {
	most := o.Work
	if most == 0 {
		most = 1 << 19
	}
	work := 0
	for i := range m.code {
		w := m.code[i].weight(m)
		if w > most-work {
			return fault.New(fault.ErrLimit, "wasm", "", "would take too long to compile: more than "+strconv.Itoa(most)+" by its blocks and locals")
		}
		work += w
	}
	return nil
}

// weight is the function's part of that.
func (f *function) weight(m *module) int {
	r := &reader{b: f.body}
	locals := len(m.types[f.typ].params)
	for range r.count() {
		locals += int(min(r.u32(), maxLocals+1))
		r.valueType()
		if locals > maxLocals {
			return math.MaxInt
		}
	}
	blocks, targets := 0, 0
	used := map[uint32]bool{}
	for r.err == nil && !r.done() {
		at := r.pos
		i := r.instruction(m, locals)
		switch i.op {
		case opBlock, opLoop, opIf:
			blocks++
			if i.index > 0 {
				s := m.types[i.index-1]
				blocks += (len(s.params) + len(s.results)) / 8
			}
		case opLocalGet, opLocalSet, opLocalTee:
			used[i.index] = true
		case opBrTable:
			targets += (&reader{b: r.b, pos: at + 1}).count()
		}
	}
	if r.err != nil { // who knows what this is
		return 16 * len(f.body)
	}
	return len(f.body)/64 + locals/64 + blocks*(1+len(used)) + targets*targets/4096
}
