package image

// Type is the type of pixels. The numbers are part of the layout of scratch
// files and never change.
type Type uint8

// The types. Files in MRC format hold the first eight.
const (
	Int8         Type = 1
	Uint8        Type = 2 // also pixels of 4 bits, once they are unpacked
	Int16        Type = 3
	Uint16       Type = 4
	Float16      Type = 5
	Float32      Type = 6
	ComplexInt16 Type = 7 // two int16
	Complex64    Type = 8 // two float32
	Int32        Type = 9
	Uint32       Type = 10
	Int64        Type = 11
	Uint64       Type = 12
	Float64      Type = 13
	Complex128   Type = 14 // two float64
)

// types has a line for each: its name, the bytes of a pixel and those of one
// of its numbers.
var types = [...]struct {
	name         string
	size, number int
}{
	Int8: {"int8", 1, 1}, Uint8: {"uint8", 1, 1}, Int16: {"int16", 2, 2}, Uint16: {"uint16", 2, 2},
	Float16: {"float16", 2, 2}, Float32: {"float32", 4, 4}, ComplexInt16: {"complex_int16", 4, 2},
	Complex64: {"complex64", 8, 4}, Int32: {"int32", 4, 4}, Uint32: {"uint32", 4, 4}, Int64: {"int64", 8, 8},
	Uint64: {"uint64", 8, 8}, Float64: {"float64", 8, 8}, Complex128: {"complex128", 16, 8},
}

// Valid reports whether t is one of the types.
func (t Type) Valid() bool { return t > 0 && int(t) < len(types) }

// Size is the number of bytes of a pixel, 0 of what is not a type.
func (t Type) Size() int {
	if !t.Valid() {
		return 0
	}
	return types[t].size
}

// String is the type's name: NumPy's where that has the type.
func (t Type) String() string {
	if !t.Valid() {
		return "no type"
	}
	return types[t].name
}

// ParseType finds a type by its name.
func ParseType(name string) (t Type, ok bool) {
	for t := Int8; t.Valid(); t++ {
		if types[t].name == name {
			return t, true
		}
	}
	return 0, false
}

// IsComplex reports whether pixels are complex numbers.
func (t Type) IsComplex() bool { return t == ComplexInt16 || t == Complex64 || t == Complex128 }
