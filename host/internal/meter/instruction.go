package meter

import "github.com/gridhold/gridhold/sdk/fault"

// The opcodes that the pass looks at.
const (
	opUnreachable  = 0x00
	opBlock        = 0x02
	opLoop         = 0x03
	opIf           = 0x04
	opElse         = 0x05
	opEnd          = 0x0b
	opBr           = 0x0c
	opBrIf         = 0x0d
	opBrTable      = 0x0e
	opReturn       = 0x0f
	opCall         = 0x10
	opCallIndirect = 0x11
	opDrop         = 0x1a
	opSelectTyped  = 0x1c
	opLocalGet     = 0x20
	opLocalSet     = 0x21
	opLocalTee     = 0x22
	opGlobalGet    = 0x23
	opGlobalSet    = 0x24
	opTableGet     = 0x25
	opTableSet     = 0x26
	opMemorySize   = 0x3f
	opMemoryGrow   = 0x40
	opI32Const     = 0x41
	opI64Const     = 0x42
	opF32Const     = 0x43
	opF64Const     = 0x44
	opI32GeS       = 0x4e
	opI32Add       = 0x6a
	opI32Sub       = 0x6b
	opI32ShrU      = 0x76
	opRefNull      = 0xd0
	opRefIsNull    = 0xd1
	opRefFunc      = 0xd2
	prefixMisc     = 0xfc
	prefixVector   = 0xfd
)

// The operations behind prefixMisc, below those that only convert numbers.
const (
	miscTruncations = 8 // those below
	miscMemoryInit  = 8
	miscDataDrop    = 9
	miscMemoryCopy  = 10
	miscMemoryFill  = 11
	miscTableInit   = 12
	miscElemDrop    = 13
	miscTableCopy   = 14
	miscTableGrow   = 15
	miscTableSize   = 16
	miscTableFill   = 17
)

const (
	typeI32      = 0x7f
	typeV128     = 0x7b
	typeFuncref  = 0x70
	typeExtern   = 0x6f
	typeFunction = 0x60
	typeEmpty    = 0x40 // of a block
)

// instruction is one of a function's. What it names is checked.
type instruction struct {
	op    byte
	sub   uint32 // after a prefix
	index uint32 // of the first thing that it names; of a block, its type's, with one added; 0: none
	at    int    // where it begins in the reader's bytes
}

// ranged reports whether the instruction works on a range whose length is on
// top of the stack.
func (i instruction) ranged() bool {
	if i.op != prefixMisc {
		return false
	}
	switch i.sub {
	case miscMemoryInit, miscMemoryCopy, miscMemoryFill, miscTableInit, miscTableCopy, miscTableGrow, miscTableFill:
		return true
	}
	return false
}

// instruction reads the next one of a function with a number of locals, or of
// a constant expression. It knows those of WebAssembly 2.0.
func (r *reader) instruction(m *module, locals int) instruction {
	i := instruction{at: r.pos}
	i.op = r.byte()
	switch op := i.op; {
	case op <= 0x01, op == opElse, op == opEnd, op == opReturn, op == opDrop, op == 0x1b, op >= 0x45 && op <= 0xc4, op == opRefIsNull:
	case op == opBlock, op == opLoop, op == opIf:
		i.index = r.blockType(m)
	case op == opBr, op == opBrIf:
		i.index = r.u32()
	case op == opBrTable:
		for range r.count() {
			r.u32()
		}
		r.u32()
	case op == opCall, op == opRefFunc:
		i.index = r.index(m.functions(), "function")
	case op == opCallIndirect:
		i.index = r.index(len(m.types), "type")
		r.u32()
	case op == opSelectTyped:
		for range r.count() {
			r.valueType()
		}
	case op >= opLocalGet && op <= opLocalTee:
		i.index = r.index(locals, "local")
	case op == opGlobalGet, op == opGlobalSet:
		i.index = r.index(m.globals(), "global")
	case op == opTableGet, op == opTableSet:
		i.index = r.u32()
	case op >= 0x28 && op <= 0x3e:
		r.memory()
	case op == opMemorySize, op == opMemoryGrow:
		r.u32()
	case op == opI32Const:
		r.skipLEB(5)
	case op == opI64Const:
		r.skipLEB(10)
	case op == opF32Const:
		r.bytes(4)
	case op == opF64Const:
		r.bytes(8)
	case op == opRefNull:
		r.valueType()
	case op == prefixMisc:
		i.sub = r.operation()
		r.misc(i.sub)
	case op == prefixVector:
		i.sub = r.operation()
		r.vector(i.sub)
	default:
		r.fail(fault.ErrUnsupported, "an unknown instruction")
	}
	return i
}

// operation reads what follows a prefix. wazero takes one byte for it, and the
// second byte of a larger number for a nop, which is what a 1 is. Any other
// spelling would be one thing here and another there.
func (r *reader) operation() uint32 {
	sub := uint32(r.byte())
	if sub >= 0x80 && r.byte() != 1 {
		r.fail(fault.ErrUnsupported, "an unknown instruction")
	}
	return sub
}

func (r *reader) misc(sub uint32) {
	switch {
	case sub < miscTruncations: // of floats to integers
	case sub == miscDataDrop, sub == miscMemoryFill, sub == miscElemDrop, sub >= miscTableGrow && sub <= miscTableFill:
		r.u32()
	case sub <= miscTableCopy:
		r.u32()
		r.u32()
	default:
		r.fail(fault.ErrUnsupported, "an unknown instruction")
	}
}

// vector passes over what follows the opcode of a vector instruction.
func (r *reader) vector(sub uint32) {
	switch {
	case sub <= 11, sub == 92, sub == 93: // loads and stores
		r.memory()
	case sub == 12, sub == 13: // a constant, a shuffle
		r.bytes(16)
	case sub >= 21 && sub <= 34: // a lane
		r.byte()
	case sub >= 84 && sub <= 91: // loads and stores of a lane
		r.memory()
		r.byte()
	}
}

// memory passes over an alignment and an offset.
func (r *reader) memory() {
	if r.u32() >= 1<<6 {
		r.fail(fault.ErrUnsupported, "an instruction that names its memory")
	}
	r.u32()
}

func (r *reader) valueType() byte {
	t := r.byte()
	if r.err == nil && !(t >= typeV128 && t <= typeI32 || t == typeFuncref || t == typeExtern) {
		r.fail(fault.ErrUnsupported, "an unknown type")
	}
	return t
}

// blockType passes over the type of a block, and returns the index of a
// function's type with one added; 0: it has no parameters.
func (r *reader) blockType(m *module) uint32 {
	at := r.pos
	switch t := r.s33(); {
	case t >= int64(len(m.types)):
		r.corrupt("names a type that there is not")
	case t >= 0:
		return uint32(t) + 1
	case t != typeEmpty-0x80 && r.err == nil:
		r.pos = at
		r.valueType()
	}
	return 0
}
