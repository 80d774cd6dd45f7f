package image

import (
	"bytes"
	"encoding/binary"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/gridhold/gridhold/sdk/fault"
)

const mrcHeaderSize = 1024

// MRCHeader is what the first 1024 bytes of an MRC file say, as far as
// anybody needs it.
type MRCHeader struct {
	NX, NY, NZ int32 // columns, rows, sections
	Mode       int32
	MZ         int32 // sections of a volume, in a stack of volumes
	SpaceGroup int32 // 0: a stack of images; 1: a volume; 401 to 630: a stack of volumes
	// Extended is the length of the extended header in bytes, ExtendedType the
	// tag that says what it is, "" if none.
	Extended     int32
	ExtendedType string
	Version      int32 // 20140, 20141; 0 in older files
	// Axes says along which of x, y, z (1, 2, 3) columns, rows and sections
	// run. Pixels are given in the order of the file, whatever it says.
	Axes      [3]int32
	PixelSize float64 // in Å along x; 0 where the file does not say
	BigEndian bool
	Labels    []string
	// Warnings are oddities that did not keep the file from being read.
	Warnings []string

	unsigned bool // pixels of mode 0
}

// ByteSign says whether the pixels of mode 0 have a sign.
type ByteSign uint8

// The signs of mode 0. Programs differ: the format's own text says signed,
// IMOD marks the files in which they are not.
const (
	BytesAsMarked ByteSign = iota // unsigned where IMOD's stamp says so, else signed
	BytesSigned
	BytesUnsigned
)

// mrcMode is how one pixel is stored.
type mrcMode struct {
	t    Type
	bits int64
}

var mrcModes = map[int32]mrcMode{
	0: {Int8, 8}, 1: {Int16, 16}, 2: {Float32, 32}, 3: {ComplexInt16, 32}, 4: {Complex64, 64},
	6: {Uint16, 16}, 12: {Float16, 16}, 101: {Uint8, 4},
}

// ParseMRCHeader reads the header of an MRC file of size bytes from its first
// bytes, 1024 or all there are. name matters only where the header is not
// sure of itself. The data need not all be there: see Data.
//
// ErrCorrupt for a header that is cut short, cannot be meant or may be of
// either byte order, ErrUnsupported for a mode that is not read and for a file that is compressed.
func ParseMRCHeader(head []byte, size int64, name string) (*MRCHeader, error) {
	if bytes.HasPrefix(head, []byte{0x1f, 0x8b}) {
		return nil, fault.At(fault.ErrUnsupported, "mrc", name, 0, "bad header: the file is compressed with gzip, unpack it first")
	}
	if len(head) < mrcHeaderSize {
		return nil, fault.At(fault.ErrCorrupt, "mrc", name, size, "truncated header: "+strconv.FormatInt(size, 10)+" bytes, want 1024")
	}
	head = head[:mrcHeaderSize]
	order, sure := mrcByteOrder(head, size)
	h := readMRCHeader(head, order)
	if tag := head[208:212]; !bytes.Equal(tag, []byte("MAP ")) && !bytes.Equal(tag, []byte("MAP\x00")) {
		if !sure || !NamedMRC(name) {
			return nil, fault.At(fault.ErrCorrupt, "mrc", name, 208, "bad header: not an MRC file, there is no MAP tag")
		}
		h.warn("there is no MAP tag")
	}
	switch stamp := [2]byte(head[212:214]); {
	case (stamp[0] == 0x11) != h.BigEndian && (stamp[0] == 0x44 || stamp[0] == 0x11):
		h.warn("the machine stamp names the other byte order")
	case stamp != [2]byte{0x44, 0x44} && stamp != [2]byte{0x44, 0x41} && stamp != [2]byte{0x11, 0x11}:
		h.warn("odd machine stamp")
	}
	if err := h.check(name); err != nil {
		return h, err
	}
	if mrcUndecided(head, size) {
		return nil, fault.At(fault.ErrCorrupt, "mrc", name, 212, "bad header: both byte orders make sense, and the machine stamp names neither")
	}
	return h, nil
}

func (h *MRCHeader) warn(why string) { h.Warnings = append(h.Warnings, why) }

// mrcByteOrder finds the byte order by evidence: which of the two makes sense
// of more fields. The machine stamp, which lies or is missing in many files,
// breaks a tie. sure means that everything made sense.
func mrcByteOrder(head []byte, size int64) (order binary.ByteOrder, sure bool) {
	little, big := mrcScore(head, size, binary.LittleEndian), mrcScore(head, size, binary.BigEndian)
	if big > little || big == little && head[212] == 0x11 {
		return binary.BigEndian, big == mrcFullScore
	}
	return binary.LittleEndian, little == mrcFullScore
}

// mrcUndecided reports whether nothing tells the byte order, and it matters.
func mrcUndecided(head []byte, size int64) bool {
	if head[212] == 0x44 || head[212] == 0x11 || mrcScore(head, size, binary.LittleEndian) != mrcScore(head, size, binary.BigEndian) {
		return false
	}
	little, big := readMRCHeader(head, binary.LittleEndian), readMRCHeader(head, binary.BigEndian)
	return little.NX != big.NX || little.NY != big.NY || little.NZ != big.NZ || little.Extended != big.Extended ||
		little.Mode != big.Mode || mrcModes[little.Mode].bits > 8
}

const mrcFullScore = 8

func mrcScore(head []byte, size int64, order binary.ByteOrder) (score int) {
	h := readMRCHeader(head, order)
	if _, known := mrcModes[h.Mode]; known {
		score++
	}
	const most = 1 << 24
	if h.NX >= 1 && h.NX <= most {
		score++
	}
	if h.NY >= 1 && h.NY <= most {
		score++
	}
	if h.NZ >= 0 && h.NZ <= most {
		score++
	}
	if h.permuted() {
		score++
	}
	if h.Extended >= 0 && int64(h.Extended) < size {
		score++
	}
	if _, end, ok := h.extent(); ok && end <= size {
		score += 2
	}
	return score
}

// permuted reports whether Axes is a permutation of 1, 2, 3.
func (h *MRCHeader) permuted() bool {
	axes := h.Axes
	slices.Sort(axes[:])
	return axes == [3]int32{1, 2, 3}
}

func readMRCHeader(head []byte, order binary.ByteOrder) *MRCHeader {
	i32 := func(off int) int32 { return int32(order.Uint32(head[off:])) }
	h := &MRCHeader{
		NX: i32(0), NY: i32(4), NZ: i32(8), Mode: i32(12), MZ: i32(36), SpaceGroup: i32(88),
		Extended: i32(92), ExtendedType: mrcText(head[104:108]), Version: i32(108),
		Axes: [3]int32{i32(64), i32(68), i32(72)}, BigEndian: order == binary.ByteOrder(binary.BigEndian),
	}
	if mx, cell := i32(28), math.Float32frombits(uint32(i32(40))); mx > 0 && cell > 0 && !math.IsInf(float64(cell), 0) {
		h.PixelSize = float64(cell) / float64(mx)
	}
	for i := range min(max(int(i32(220)), 0), 10) {
		h.Labels = append(h.Labels, mrcText(head[224+80*i:304+80*i]))
	}
	const imod = 1146047817
	h.unsigned = i32(152) == imod && i32(156)&1 == 0
	return h
}

// mrcText is text in a field of fixed length, as far as it is readable.
func mrcText(b []byte) string {
	return strings.TrimRight(strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, string(b)), " ")
}

func (h *MRCHeader) check(name string) error {
	bad := func(off int64, why string) error {
		return fault.At(fault.ErrCorrupt, "mrc", name, off, "bad header: "+why)
	}
	number := func(n int32) string { return strconv.Itoa(int(n)) }
	if _, known := mrcModes[h.Mode]; !known {
		why := "unsupported mode: " + number(h.Mode)
		if h.Mode == 16 {
			why += ", RGB"
		}
		return fault.At(fault.ErrUnsupported, "mrc", name, 12, why)
	}
	switch {
	case h.NX < 1:
		return bad(0, "NX is "+number(h.NX))
	case h.NY < 1:
		return bad(4, "NY is "+number(h.NY))
	case h.NZ < 0:
		return bad(8, "NZ is "+number(h.NZ))
	case h.Extended < 0:
		return bad(92, "NSYMBT is "+number(h.Extended))
	case h.ofVolumes() && (h.MZ < 1 || h.NZ%h.MZ != 0):
		return bad(36, "volumes of "+number(h.MZ)+" sections, of "+number(h.NZ)+" in all")
	}
	if h.Axes == [3]int32{} {
		h.Axes = [3]int32{1, 2, 3}
		h.warn("the header does not name the axes")
	}
	if !h.permuted() {
		return bad(64, "MAPC, MAPR, MAPS are not the three axes")
	}
	_, _, ok := h.extent()
	if decoded := h.Describe(name, BytesAsMarked); !ok || checkedBytes(int64(decoded.Type.Size()), decoded.Shape) < 0 {
		return bad(0, "sizes beyond 63 bits")
	}
	return nil
}

// ofVolumes reports whether the file is a stack of volumes.
func (h *MRCHeader) ofVolumes() bool { return h.SpaceGroup >= 401 && h.SpaceGroup <= 630 }

// rowBytes is the size of a row as it is stored. Rows of 4-bit pixels end on
// a byte, as IMOD and SerialEM write them.
func (h *MRCHeader) rowBytes() int64 { return (int64(h.NX)*mrcModes[h.Mode].bits + 7) / 8 }

// extent returns the size of a section as it is stored and the end of the
// data, or not ok where they are beyond 63 bits or an extent is negative.
func (h *MRCHeader) extent() (section, end int64, ok bool) {
	if h.NX < 0 || h.Extended < 0 {
		return 0, 0, false
	}
	section = checkedBytes(h.rowBytes(), []int64{int64(h.NY)})
	data := checkedBytes(max(section, 0), []int64{int64(h.NZ)})
	end = mrcHeaderSize + int64(h.Extended) + data
	return section, end, section >= 0 && data >= 0 && end >= data
}

// Data returns where the pixels lie in the file. They may reach past its end.
func (h *MRCHeader) Data() (off, n int64) {
	off = mrcHeaderSize + int64(h.Extended)
	_, end, _ := h.extent()
	return off, end - off
}

// Describe says what a file of that header and name holds.
func (h *MRCHeader) Describe(name string, sign ByteSign) Description {
	d := Description{Type: mrcModes[h.Mode].t, Count: int64(h.NZ), ImageShape: []int64{int64(h.NY), int64(h.NX)}}
	if h.Mode == 0 && (sign == BytesUnsigned || sign == BytesAsMarked && h.unsigned) {
		d.Type = Uint8
	}
	switch {
	case h.ofVolumes():
		d.CoreRank, d.Count = 3, int64(h.NZ/h.MZ)
		d.ImageShape = []int64{int64(h.MZ), int64(h.NY), int64(h.NX)}
	case h.SpaceGroup != 0:
		d.CoreRank, d.Shape = 3, []int64{int64(h.NZ), int64(h.NY), int64(h.NX)}
		return d
	case h.NZ == 1 && extension(name) != ".mrcs":
		d.CoreRank, d.Shape = 2, d.ImageShape
		return d
	default:
		d.CoreRank = 2
	}
	d.Shape = append([]int64{d.Count}, d.ImageShape...)
	return d
}

// mrcExtensions are the names under which MRC files go.
var mrcExtensions = []string{".mrc", ".mrcs", ".map", ".st", ".rec", ".ali"}

// NamedMRC reports whether a name ends as those of MRC files do, in any case,
// perhaps with the format behind a colon.
func NamedMRC(name string) bool { return slices.Contains(mrcExtensions, extension(name)) }

// extension returns the extension of a name in lower case, or the format that
// RELION lets stand behind a colon: that of "a.mrc:mrcs" is ".mrcs".
func extension(name string) string {
	if file := withoutSuffix(name); file != name {
		return "." + strings.ToLower(name[len(file)+1:])
	}
	return strings.ToLower(path.Ext(name))
}

// withoutSuffix takes the format behind a colon from a name.
func withoutSuffix(name string) string {
	if i := strings.LastIndexByte(name, ':'); i > 0 && slices.Contains(mrcExtensions, "."+strings.ToLower(name[i+1:])) {
		return name[:i]
	}
	return name
}
