package zip

import (
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// Parts of an archive begin with these, little endian.
const (
	LocalMark     = "PK\x03\x04"
	CentralMark   = "PK\x01\x02"
	EndMark       = "PK\x05\x06"
	End64Mark     = "PK\x06\x06"
	Locator64Mark = "PK\x06\x07"
)

// Bytes of the parts, without names, extra fields and comments.
const (
	LocalLen     = 30
	CentralLen   = 46
	EndLen       = 22
	End64Len     = 56
	Locator64Len = 20
)

const longestComment = 1<<16 - 1

// The methods that a Store reads.
const (
	Stored   = 0
	Deflated = 8
)

// Member is a file in an archive, as its directory has it.
type Member struct {
	Name   string
	Header int64 // where its local header begins
	Packed int64 // bytes in the archive
	Size   int64 // bytes of the file
	Method int   // Stored, Deflated, or another
	CRC    uint32
}

// ParseDirectory reads the directory of an archive of size bytes; one of more
// than limit bytes is ErrLimit. ErrCorrupt for names that are absolute, lead
// out with "..", or occur twice, for members that overlap or pass the end,
// and for what else contradicts the format; ErrUnsupported for an encrypted
// member. Directories among the members are left out.
func ParseDirectory(r io.ReaderAt, size, limit int64) ([]Member, error) {
	members, err := parseDirectory(r, size, limit)
	if err != nil {
		return nil, err
	}
	seen := make(map[string]bool, len(members))
	for _, m := range members {
		if seen[m.Name] {
			return nil, fault.New(fault.ErrCorrupt, "zip", m.Name, "is there twice")
		}
		seen[m.Name] = true
	}
	return members, nil
}

// parseDirectory is ParseDirectory where names may occur twice.
func parseDirectory(r io.ReaderAt, size, limit int64) ([]Member, error) {
	n, off, count, err := findDirectory(r, size)
	if err != nil {
		return nil, err
	}
	switch {
	case n > limit:
		return nil, fault.New(fault.ErrLimit, "zip", "", "a directory of "+strconv.FormatInt(n, 10)+" bytes")
	case off < 0 || n < 0 || off > size || n > size-off || count > n/CentralLen:
		return nil, corrupt(off, "the directory lies outside the file")
	}
	b, err := readAt(r, off, n)
	if err != nil {
		return nil, err
	}
	var members []Member
	for range count {
		m, rest, err := parseMember(b, off+n-int64(len(b)))
		if err != nil {
			return nil, err
		}
		b = rest
		if strings.HasSuffix(m.Name, "/") {
			continue
		}
		if !storage.ValidKey(m.Name) {
			return nil, fault.New(fault.ErrCorrupt, "zip", m.Name, "a name that leads elsewhere")
		}
		if m.Method == Stored && m.Packed != m.Size {
			return nil, fault.New(fault.ErrCorrupt, "zip", m.Name, "is stored, and of two sizes")
		}
		members = append(members, m)
	}
	return members, apart(members, off)
}

// apart refuses members that share bytes, with each other or with what begins
// at end: a small archive could have many large ones.
func apart(members []Member, end int64) error {
	order := make([]int, len(members))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(members[a].Header, members[b].Header) })
	for k, i := range order {
		m, next := members[i], end
		if k+1 < len(order) {
			next = members[order[k+1]].Header
		}
		if room := next - m.Header - LocalLen - int64(len(m.Name)); room < 0 || m.Packed > room {
			return fault.At(fault.ErrCorrupt, "zip", m.Name, m.Header, "reaches into what follows it")
		}
	}
	return nil
}

func corrupt(off int64, why string) error { return fault.At(fault.ErrCorrupt, "zip", "", off, why) }

// readAt reads n bytes at off.
func readAt(r io.ReaderAt, off, n int64) ([]byte, error) {
	b := make([]byte, n)
	k, err := r.ReadAt(b, off)
	if k == len(b) {
		return b, nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return nil, corrupt(off+int64(k), "ends early")
	}
	return nil, err
}

// findDirectory finds the directory: how many bytes it has, where, of how
// many members.
func findDirectory(r io.ReaderAt, size int64) (n, off, count int64, err error) {
	tail, err := readAt(r, max(size-EndLen-longestComment, 0), min(size, EndLen+longestComment))
	if err != nil {
		return 0, 0, 0, err
	}
	at := len(tail) - EndLen
	for ; at >= 0; at-- { // the last one whose comment ends with the file
		if string(tail[at:at+4]) == EndMark && int(binary.LittleEndian.Uint16(tail[at+20:])) == len(tail)-at-EndLen {
			break
		}
	}
	if at < 0 {
		return 0, 0, 0, corrupt(size, "no directory at the end")
	}
	end := tail[at:]
	count = int64(binary.LittleEndian.Uint16(end[10:]))
	n, off = int64(binary.LittleEndian.Uint32(end[12:])), int64(binary.LittleEndian.Uint32(end[16:]))
	if count < math.MaxUint16 && n < math.MaxUint32 && off < math.MaxUint32 {
		return n, off, count, nil
	}
	if at < Locator64Len || string(tail[at-Locator64Len:at-Locator64Len+4]) != Locator64Mark {
		return n, off, count, nil // that many, by chance
	}
	where := int64(binary.LittleEndian.Uint64(tail[at-Locator64Len+8:]))
	if where < 0 || where > size-End64Len {
		return 0, 0, 0, corrupt(size, "the directory's end lies outside the file")
	}
	wide, err := readAt(r, where, End64Len)
	if err != nil || string(wide[:4]) != End64Mark {
		return 0, 0, 0, errors.Join(err, corrupt(where, "no end of a directory where it is due"))
	}
	count = int64(binary.LittleEndian.Uint64(wide[32:]))
	n, off = int64(binary.LittleEndian.Uint64(wide[40:])), int64(binary.LittleEndian.Uint64(wide[48:]))
	if count < 0 {
		count = math.MaxInt64
	}
	return n, off, count, nil
}

// parseMember reads one entry of the directory, which lies at off of the file.
func parseMember(b []byte, off int64) (m Member, rest []byte, err error) {
	if len(b) < CentralLen || string(b[:4]) != CentralMark {
		return m, nil, corrupt(off, "no member where it is due")
	}
	name, extra, comment := int(binary.LittleEndian.Uint16(b[28:])), int(binary.LittleEndian.Uint16(b[30:])), int(binary.LittleEndian.Uint16(b[32:]))
	m = Member{
		Method: int(binary.LittleEndian.Uint16(b[10:])), CRC: binary.LittleEndian.Uint32(b[16:]),
		Packed: int64(binary.LittleEndian.Uint32(b[20:])), Size: int64(binary.LittleEndian.Uint32(b[24:])),
		Header: int64(binary.LittleEndian.Uint32(b[42:])),
	}
	encrypted := b[8]&1 != 0
	b = b[CentralLen:]
	if name+extra+comment > len(b) {
		return m, nil, corrupt(off, "a member passes the end of the directory")
	}
	m.Name = string(b[:name])
	if encrypted {
		return m, nil, fault.New(fault.ErrUnsupported, "zip", m.Name, "is encrypted")
	}
	return m, b[name+extra+comment:], m.widen(b[name:name+extra], off)
}

// widen takes from the extra fields what has more than 32 bits.
func (m *Member) widen(extra []byte, off int64) error {
	for len(extra) >= 4 {
		id, n := binary.LittleEndian.Uint16(extra), int(binary.LittleEndian.Uint16(extra[2:]))
		if n > len(extra)-4 {
			break
		}
		field := extra[4 : 4+n]
		extra = extra[4+n:]
		if id != 1 {
			continue
		}
		for _, v := range []*int64{&m.Size, &m.Packed, &m.Header} {
			if *v == math.MaxUint32 && len(field) >= 8 {
				*v = int64(binary.LittleEndian.Uint64(field))
				field = field[8:]
			}
		}
	}
	if m.Size < 0 || m.Packed < 0 || m.Header < 0 {
		return corrupt(off, "a member of a negative size")
	}
	return nil
}

// Data returns where the bytes of a member begin in an archive of size bytes.
// ErrCorrupt if the local header is not the one of this member, or the bytes
// pass the end.
func (m Member) Data(r io.ReaderAt, size int64) (off int64, err error) {
	if m.Header > size-LocalLen {
		return 0, corrupt(m.Header, "a member lies outside the file")
	}
	head, err := readAt(r, m.Header, min(LocalLen+int64(len(m.Name)), size-m.Header))
	if err != nil {
		return 0, err
	}
	return m.data(head, size)
}

// data is Data for a local header that was read, with the name in it. The
// lengths of name and extra fields that count are those of the local header.
func (m Member) data(head []byte, size int64) (off int64, err error) {
	if len(head) < LocalLen+len(m.Name) || string(head[:4]) != LocalMark {
		return 0, corrupt(m.Header, "no member where it is due")
	}
	name, extra := int(binary.LittleEndian.Uint16(head[26:])), int64(binary.LittleEndian.Uint16(head[28:]))
	if name != len(m.Name) || string(head[LocalLen:LocalLen+name]) != m.Name || int(binary.LittleEndian.Uint16(head[8:])) != m.Method {
		return 0, fault.At(fault.ErrCorrupt, "zip", m.Name, m.Header, "the member says otherwise than the directory")
	}
	off = m.Header + LocalLen + int64(name) + extra
	if off > size || m.Packed > size-off {
		return 0, corrupt(m.Header, "a member lies outside the file")
	}
	return off, nil
}
