package meter

import "github.com/gridhold/gridhold/sdk/fault"

// What things cost, in units of an ordinary instruction.
const (
	costCall     = 4   // of a function that pays for itself
	costIndirect = 64  // covers a leaf
	costImport   = 300 // leaves the module
	costGrow     = 300 // so does growing memory
	costLeaf     = 60  // the most that callers pay for a function
)

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
	for i := range m.code {
		f := &m.code[i]
		f.leaf = !f.loops && !f.ranged && !f.indirect && len(f.calls) == 0 && f.costs[0] <= costLeaf
	}
	for i := range m.code {
		f := &m.code[i]
		for _, c := range f.calls {
			switch {
			case int(c.to) < m.importedFuncs:
				f.costs[c.region] += costImport
			case m.code[int(c.to)-m.importedFuncs].leaf:
				f.costs[c.region] += m.code[int(c.to)-m.importedFuncs].costs[0]
			default:
				f.costs[c.region] += costCall
			}
		}
	}
	return nil
}

func (m *module) measureFunction(f *function) error {
	r := &reader{b: f.body}
	locals := len(m.types[f.typ].params)
	for range r.count() {
		n := r.u32()
		if n > maxLocals || locals+int(n) > maxLocals-2 {
			r.fail(fault.ErrUnsupported, "more locals than the counter leaves room for")
			break
		}
		locals += int(n)
		r.valueType()
	}
	f.locals = locals
	f.costs = []int{0}
	open := []int{0} // the region of each open block, the function's first
	for len(open) > 0 && r.err == nil {
		i := r.instruction(m, locals)
		region := open[len(open)-1]
		f.costs[region]++
		switch i.op {
		case opBlock, opIf:
			open = append(open, region)
		case opLoop:
			f.loops = true
			open = append(open, len(f.costs))
			f.costs = append(f.costs, 0)
		case opEnd:
			open = open[:len(open)-1]
		case opCall:
			f.calls = append(f.calls, call{i.index, region})
		case opCallIndirect:
			f.indirect = true
			f.costs[region] += costIndirect
		case opMemoryGrow:
			f.costs[region] += costGrow
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
