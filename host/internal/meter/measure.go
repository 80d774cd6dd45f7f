package meter

import "github.com/gridhold/gridhold/sdk/fault"

// What things cost, in units of an ordinary instruction.
const (
	costCall     = 4 // of a function that pays for itself
	costIndirect = 10
	costImport   = 300 // leaves the module
	costGrow     = 300 // so does growing memory
	costPrepaid  = 300 // the most that callers pay for a function
)

// region is what belongs to a loop, and to none within it; or to none at all.
type region struct {
	parent int
	size   int  // instructions of one turn; with the first turns of the loops in it
	cost   int  // the same, with what it calls
	params bool // the loop has parameters
}

// turns is how many turns of a loop are paid for together.
func (g region) turns() int {
	if !g.params && g.size <= unrolledSize {
		return unrolledTurns
	}
	return 1
}

// call is one by index, from a region of the caller.
type call struct {
	to     uint32
	region int
}

// measure finds out of each function what it costs and calls.
func (m *module) measure() error {
	for i := range m.code {
		if err := m.measureFunction(&m.code[i]); err != nil {
			return err
		}
	}
	return nil
}

// price adds to the costs of functions those of what they call, the called
// ones first.
func (m *module) price() error {
	for _, f := range m.taken {
		if i := int(f) - m.importedFuncs; i >= 0 {
			m.code[i].taken = true
		}
	}
	for _, i := range m.order {
		f := &m.code[i]
		for _, c := range f.calls {
			cost := costCall
			if int(c.to) < m.importedFuncs {
				cost = costImport
			} else if callee := &m.code[int(c.to)-m.importedFuncs]; callee.prepaid {
				cost += callee.regions[0].cost
			}
			f.regions[c.region].cost += cost
		}
		for k := len(f.regions) - 1; k > 0; k-- { // those within come after those around
			g := &f.regions[k]
			g.cost += g.size
			if !g.params {
				f.regions[g.parent].size += g.turns() * g.size
				f.regions[g.parent].cost += g.turns() * (g.cost - g.size)
			}
		}
		f.regions[0].cost += f.regions[0].size
		// What a table holds is called by those who do not know what it costs.
		f.prepaid = !f.cyclic && !f.taken && f.regions[0].cost <= costPrepaid
	}
	return nil
}

func (m *module) measureFunction(f *function) error {
	r := &reader{b: f.body}
	locals := len(m.types[f.typ].params)
	for range r.count() {
		locals += int(r.u32()) // not too many: weigh has looked
		r.valueType()
	}
	f.locals = locals
	f.regions = []region{{}}
	open := []int{0} // the region of each open block, the function's first
	for len(open) > 0 && r.err == nil {
		i := r.instruction(m, locals)
		here := open[len(open)-1]
		f.regions[here].size++
		switch i.op {
		case opBlock, opIf:
			open = append(open, here)
		case opLoop:
			open = append(open, len(f.regions))
			f.regions = append(f.regions, region{parent: here, params: i.index > 0 && len(m.types[i.index-1].params) > 0})
		case opEnd:
			open = open[:len(open)-1]
		case opCall:
			f.calls = append(f.calls, call{i.index, here})
		case opCallIndirect:
			f.indirect = true
			f.regions[here].cost += costIndirect
		case opMemoryGrow:
			f.regions[here].cost += costGrow
		case opRefFunc:
			m.taken = append(m.taken, i.index)
		default:
			f.ranged = f.ranged || i.ranged()
		}
		if len(open) > maxDepth {
			r.fail(fault.ErrLimit, "blocks are nested too deep")
		}
	}
	return r.end()
}
