package scratch

import (
	"encoding/binary"
	"io"
	"math"
	"strconv"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/storage"
)

// The numbers of the file's layout; doc.go has the picture.
const (
	magic       = "\x89GHS\r\n\x1a\n"
	layoutMajor = 1
	page        = 4096
	maxRank     = 4

	// In the superblock, which is the first page.
	atMajor       = 8
	atPage        = 12
	atRunLength   = 16
	atSize        = 24
	atFingerprint = 32
	atSalt        = 48
	atKeys        = 64
	atImages      = 72
	atRuns        = 80
	atSections    = 88
	atKeysCRC     = 168
	atCRC         = page - 4

	// The second page changes; what is in it steers and never lies about
	// pixels.
	atUsed  = page      // i64, ns since 1970: when the scratch was last used
	atBoot  = page + 8  // u64, of the run of the system that made and filled it; see bootMixed
	atQuota = page + 16 // i64, bytes of DATA that who uses it may fill

	keyBytes      = 96
	keyStampBytes = 8 + 2*stampBytes
)

// The sections, each on a page of its own.
const (
	sectionKeys = iota
	sectionIndex
	sectionStamps
	sectionState
	sectionData
	sectionCount
)

// header is all of a scratch file that is written once.
type header struct {
	*layout
	id       [16]byte // fingerprint
	salt     uint64   // another one whenever the file is made anew
	sections [sectionCount]storage.Range
}

// size is that of the file, in bytes.
func (h *header) size() int64 {
	d := h.sections[sectionData]
	return d.Off + d.Len
}

// overhead is what the file takes besides pixels, in bytes.
func (h *header) overhead() int64 {
	s := h.sections[sectionState]
	return s.Off + align(s.Len, page)
}

// mostOverhead is how many bytes may stand in front of the data. They are read
// into memory; a hundred million images take less.
const mostOverhead = 1 << 30

// full is what the file takes when all is there, in bytes: less than its size,
// as nothing is in front of the data.
func (h *header) full() int64 { return h.overhead() + h.bytes }

func (h *header) wordAt(run int64) int64 { return h.sections[sectionState].Off + 8*run }

func (h *header) stampAt(key int) int64 {
	return h.sections[sectionStamps].Off + int64(key)*keyStampBytes
}

func (h *header) dataAt(off int64) int64 { return h.sections[sectionData].Off + off }

// dataStart is where data of n bytes begin that may begin at an offset. Systems
// handle large pieces of a file as one if they begin on a multiple of their
// size, which runs of a mebibyte, or a part of one, then do.
func dataStart(off, n int64) int64 {
	const large = 1 << 20
	if n < large {
		return off
	}
	return align(off, large)
}

// newHeader places the sections of a layout.
func newHeader(l *layout, id [16]byte, salt uint64) *header {
	h := &header{layout: l, id: id, salt: salt}
	keys, index := int64(0), int64(0)
	for _, k := range l.keys {
		keys += keyBytes + int64(len(k.name))
		index += 4 * int64(len(k.indices))
	}
	at := int64(2 * page)
	for i, n := range [sectionCount]int64{keys, index, int64(len(l.keys)) * keyStampBytes, 8 * l.runs, l.bytes} {
		if i == sectionData {
			at = dataStart(at, n)
		}
		h.sections[i] = storage.Range{Off: at, Len: n}
		at += align(n, page)
	}
	return h
}

// encode returns everything in front of the data: no run is there, and each
// key has the stamp it is given, in its first generation.
func (h *header) encode(stamps []stamp) []byte {
	b := make([]byte, h.overhead())
	le := binary.LittleEndian
	copy(b, magic)
	le.PutUint16(b[atMajor:], layoutMajor)
	le.PutUint32(b[atPage:], page)
	le.PutUint64(b[atRunLength:], uint64(h.runLength))
	le.PutUint64(b[atSize:], uint64(h.size()))
	copy(b[atFingerprint:], h.id[:])
	le.PutUint64(b[atSalt:], h.salt)
	le.PutUint64(b[atKeys:], uint64(len(h.keys)))
	le.PutUint64(b[atImages:], uint64(h.images))
	le.PutUint64(b[atRuns:], uint64(h.runs))
	for i, s := range h.sections {
		le.PutUint64(b[atSections+16*i:], uint64(s.Off))
		le.PutUint64(b[atSections+16*i+8:], uint64(s.Len))
	}
	names, index := h.sections[sectionKeys].Off+keyBytes*int64(len(h.keys)), h.sections[sectionIndex].Off
	for i, k := range h.keys {
		e := b[h.sections[sectionKeys].Off+int64(i)*keyBytes:][:keyBytes]
		le.PutUint64(e, uint64(names))
		le.PutUint32(e[8:], uint32(len(k.name)))
		e[12], e[13], e[14], e[15] = byte(k.is.Type), byte(len(k.is.Shape)), byte(k.is.CoreRank), byte(len(k.is.ImageShape))
		for j, n := range k.is.Shape {
			le.PutUint64(e[16+8*j:], uint64(n))
		}
		le.PutUint64(e[48:], uint64(k.is.Count))
		le.PutUint64(e[56:], uint64(k.held))
		if k.indices != nil {
			le.PutUint64(e[64:], uint64(index))
			for _, n := range k.indices {
				le.PutUint32(b[index:], uint32(n))
				index += 4
			}
		}
		le.PutUint64(e[72:], uint64(k.first))
		le.PutUint64(e[80:], uint64(k.off))
		if k.isWhole {
			e[88] = 1
		}
		names += int64(copy(b[names:], k.name))

		s := b[h.stampAt(i):]
		le.PutUint64(s, uint64(makeStampWord(i, 1, 0, h.salt)))
		copy(s[8:], stamps[i].encode())
	}
	for i, s := range h.sections[:sectionStamps] {
		le.PutUint32(b[atKeysCRC+4*i:], storage.UpdateCRC(0, b[s.Off:s.Off+s.Len]))
	}
	le.PutUint32(b[atCRC:], storage.UpdateCRC(0, b[:atCRC]))
	return b
}

// isOurs reports whether a file begins as a scratch does.
func isOurs(f storage.File) bool {
	b := make([]byte, len(magic))
	n, _ := f.ReadAt(b, 0)
	return n == len(b) && string(b) == magic
}

// readHeader reads what is in front of the stamps, and checks all of it.
// ErrUnsupported for a layout of a later version, ErrCorrupt for what
// contradicts itself or its checksums.
func readHeader(f storage.File, name string) (*header, error) {
	bad := func(off int64, why string) error { return fault.At(fault.ErrCorrupt, "scratch", name, off, why) }
	b := make([]byte, page)
	if n, err := f.ReadAt(b, 0); err != nil {
		if err == io.EOF {
			err = bad(int64(n), "the file ends in its first page")
		}
		return nil, err
	}
	le := binary.LittleEndian
	switch {
	case string(b[:len(magic)]) != magic:
		return nil, bad(0, "not a scratch")
	case le.Uint16(b[atMajor:]) != layoutMajor:
		return nil, fault.New(fault.ErrUnsupported, "scratch", name, "layout "+strconv.Itoa(int(le.Uint16(b[atMajor:]))))
	case le.Uint32(b[atCRC:]) != storage.UpdateCRC(0, b[:atCRC]):
		return nil, bad(0, "the checksum of the first page is wrong")
	case le.Uint32(b[atPage:]) != page:
		return nil, fault.New(fault.ErrUnsupported, "scratch", name, "pages of another size")
	}
	n := func(at int) int64 { return int64(le.Uint64(b[at:])) }
	h := &header{layout: &layout{runLength: n(atRunLength)}, salt: le.Uint64(b[atSalt:])}
	copy(h.id[:], b[atFingerprint:])
	for i := range h.sections {
		h.sections[i] = storage.Range{Off: n(atSections + 16*i), Len: n(atSections + 16*i + 8)}
	}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	keys := n(atKeys)
	end := int64(2 * page)
	for i, s := range h.sections {
		if i == sectionData {
			end = dataStart(end, s.Len)
		}
		if s.Off != end || s.Len < 0 || s.Len > math.MaxInt64/2-end {
			return nil, bad(atSections, "the sections do not follow each other")
		}
		end += align(s.Len, page)
	}
	switch {
	case h.runLength < 1 || keys < 0 || keys > h.sections[sectionKeys].Len/keyBytes:
		return nil, bad(atRunLength, "sizes that cannot be")
	case h.overhead() > mostOverhead:
		return nil, fault.At(fault.ErrLimit, "scratch", name, atSections, "a header of more than a gibibyte")
	case h.overhead() > info.Size:
		return nil, bad(info.Size, "the file ends before its data")
	}
	var text [sectionStamps][]byte
	for i, s := range h.sections[:sectionStamps] {
		text[i] = make([]byte, s.Len)
		if _, err := f.ReadAt(text[i], s.Off); err != nil && s.Len > 0 {
			return nil, err
		}
		if le.Uint32(b[atKeysCRC+4*i:]) != storage.UpdateCRC(0, text[i]) {
			return nil, bad(s.Off, "the checksum of the keys is wrong")
		}
	}
	for i := range keys {
		if err := h.parseKey(text, i); err != nil {
			return nil, fault.New(err, "scratch", name, "")
		}
	}
	if want := newHeader(h.layout, h.id, h.salt); want.sections != h.sections || h.images != n(atImages) || h.runs != n(atRuns) || h.size() != n(atSize) {
		return nil, bad(atSections, "the sections are not those of the keys")
	}
	return h, nil
}

// parseKey adds the i-th key of a header. What it says of the key's place is
// what the layout works out again.
func (h *header) parseKey(text [sectionStamps][]byte, i int64) error {
	le := binary.LittleEndian
	keys, index := h.sections[sectionKeys], h.sections[sectionIndex]
	at := keys.Off + i*keyBytes
	e := text[sectionKeys][i*keyBytes:][:keyBytes]
	bad := func(why string) error { return fault.At(fault.ErrCorrupt, "key", "", at, why) }
	n := func(at int) int64 { return int64(le.Uint64(e[at:])) }
	span := func(s storage.Range, text []byte, off, n int64) []byte {
		if off < s.Off || off > s.Off+s.Len || n > s.Off+s.Len-off {
			return nil
		}
		return text[off-s.Off:][:n]
	}
	name := span(keys, text[sectionKeys], n(0), int64(le.Uint32(e[8:])))
	rank, core := int(e[13]), int(e[15])
	if len(name) == 0 || rank < 1 || rank > maxRank || core < 1 || core > rank {
		return bad("no name or no shape")
	}
	k := &key{name: string(name), held: n(56), isWhole: e[88] == 1}
	k.is = image.Description{Type: image.Type(e[12]), CoreRank: int(e[14]), Count: n(48)}
	for j := range rank {
		k.is.Shape = append(k.is.Shape, n(16+8*j))
	}
	k.is.ImageShape = k.is.Shape[rank-core:]
	if err := checkDescription(k.name, k.is); err != nil {
		return bad(err.Error())
	}
	if k.held < 0 || k.held > k.is.Count || k.isWhole && k.held != k.is.Count {
		return bad("it holds more images than there are")
	}
	if off := n(64); off != 0 {
		raw := span(index, text[sectionIndex], off, 4*k.held)
		if raw == nil {
			return bad("no place for the images it holds")
		}
		k.indices = make([]int64, k.held)
		for j := range k.indices {
			k.indices[j] = int64(le.Uint32(raw[4*j:]))
			if j > 0 && k.indices[j] <= k.indices[j-1] {
				return bad("the images it holds are not in order")
			}
		}
		if k.held > 0 && k.indices[k.held-1] >= k.is.Count {
			return bad("it holds images that there are not")
		}
	}
	if last := len(h.keys) - 1; last >= 0 && h.keys[last].name >= k.name {
		return bad("the keys are not in order")
	}
	if err := h.add(k, page); err != nil {
		return err
	}
	if k.first != n(72) || k.off != n(80) {
		return bad("it is not where it says")
	}
	return nil
}

// readStamps reads the stamps of all keys, with their words. A key whose
// stamp cannot be read has word 0.
func (h *header) readStamps(f storage.File) ([]stampWord, []stamp, error) {
	s := h.sections[sectionStamps]
	b := make([]byte, s.Len)
	if _, err := f.ReadAt(b, s.Off); err != nil {
		return nil, nil, err
	}
	words, stamps := make([]stampWord, len(h.keys)), make([]stamp, len(h.keys))
	for i := range h.keys {
		e := b[i*keyStampBytes:][:keyStampBytes]
		w := stampWord(binary.LittleEndian.Uint64(e))
		if !w.valid(i, h.salt) {
			continue
		}
		if s, ok := parseStamp(e[8+w.which()*stampBytes:][:stampBytes]); ok {
			words[i], stamps[i] = w, s
		}
	}
	return words, stamps, nil
}

// readWords calls do with the word of each run, in order.
func (h *header) readWords(f storage.File, do func(run int64, w word)) error {
	buf := make([]byte, min(8*h.runs, 1<<16))
	for from := int64(0); from < h.runs; from += int64(len(buf) / 8) {
		b := buf[:min(int64(len(buf)), 8*(h.runs-from))]
		if _, err := f.ReadAt(b, h.wordAt(from)); err != nil {
			return err
		}
		for i := range int64(len(b) / 8) {
			do(from+i, word(binary.LittleEndian.Uint64(b[8*i:])))
		}
	}
	return nil
}
