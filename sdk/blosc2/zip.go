package blosc2

import (
	"context"
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

// Member is a file in a zip, as the directory at the zip's end has it.
type Member struct {
	Name   string
	Header int64 // where its local header begins
	Packed int64 // bytes in the zip
	Size   int64 // bytes of the file
	Method int   // 0: stored, as it has to be to be read in place
}

// Parts of a zip begin with these, little endian.
const (
	zipLocal     = "PK\x03\x04"
	zipCentral   = "PK\x01\x02"
	zipEnd       = "PK\x05\x06"
	zipEnd64     = "PK\x06\x06"
	zipLocator64 = "PK\x06\x07"
)

const (
	zipLocalLen   = 30
	zipCentralLen = 46
	zipEndLen     = 22
	zipEnd64Len   = 56
	zipLocatorLen = 20
	zipComment    = 1<<16 - 1
)

// ParseZip reads the directory of a zip of size bytes; a directory of more
// than limit bytes is ErrLimit. ErrCorrupt for names that are absolute, lead
// out with "..", or occur twice, and for what contradicts the format.
// Directories among the members are left out.
//
// Format: https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT
func ParseZip(r io.ReaderAt, size, limit int64) ([]Member, error) {
	n, off, count, err := zipDirectory(r, size)
	if err != nil {
		return nil, err
	}
	switch {
	case n > limit:
		return nil, fault.New(fault.ErrLimit, "zip", "", "a directory of "+strconv.FormatInt(n, 10)+" bytes")
	case off < 0 || n < 0 || off > size || n > size-off || count > n/zipCentralLen:
		return nil, zipError(off, "the directory lies outside the file")
	}
	b, err := readAt(r, off, n)
	if err != nil {
		return nil, err
	}
	var members []Member
	seen := map[string]bool{}
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
		if seen[m.Name] {
			return nil, fault.New(fault.ErrCorrupt, "zip", m.Name, "is there twice")
		}
		seen[m.Name] = true
		members = append(members, m)
	}
	return members, nil
}

func zipError(off int64, why string) error { return fault.At(fault.ErrCorrupt, "zip", "", off, why) }

// zipDirectory finds the directory: how many bytes it has, where, of how many
// members.
func zipDirectory(r io.ReaderAt, size int64) (n, off, count int64, err error) {
	tail, err := readAt(r, max(size-zipEndLen-zipComment, 0), min(size, zipEndLen+zipComment))
	if err != nil {
		return 0, 0, 0, err
	}
	at := len(tail) - zipEndLen
	for ; at >= 0; at-- { // the last one whose comment ends with the file
		if string(tail[at:at+4]) == zipEnd && int(binary.LittleEndian.Uint16(tail[at+20:])) == len(tail)-at-zipEndLen {
			break
		}
	}
	if at < 0 {
		return 0, 0, 0, zipError(size, "no directory at the end")
	}
	end := tail[at:]
	count = int64(binary.LittleEndian.Uint16(end[10:]))
	n, off = int64(binary.LittleEndian.Uint32(end[12:])), int64(binary.LittleEndian.Uint32(end[16:]))
	if count < math.MaxUint16 && n < math.MaxUint32 && off < math.MaxUint32 {
		return n, off, count, nil
	}
	if at < zipLocatorLen || string(tail[at-zipLocatorLen:at-zipLocatorLen+4]) != zipLocator64 {
		return n, off, count, nil // that many, by chance
	}
	where := int64(binary.LittleEndian.Uint64(tail[at-zipLocatorLen+8:]))
	if where < 0 || where > size-zipEnd64Len {
		return 0, 0, 0, zipError(size, "the directory's end lies outside the file")
	}
	wide, err := readAt(r, where, zipEnd64Len)
	if err != nil || string(wide[:4]) != zipEnd64 {
		return 0, 0, 0, errors.Join(err, zipError(where, "no end of a directory where it is due"))
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
	if len(b) < zipCentralLen || string(b[:4]) != zipCentral {
		return m, nil, zipError(off, "no member where it is due")
	}
	name, extra, comment := int(binary.LittleEndian.Uint16(b[28:])), int(binary.LittleEndian.Uint16(b[30:])), int(binary.LittleEndian.Uint16(b[32:]))
	m = Member{
		Method: int(binary.LittleEndian.Uint16(b[10:])), Packed: int64(binary.LittleEndian.Uint32(b[20:])),
		Size: int64(binary.LittleEndian.Uint32(b[24:])), Header: int64(binary.LittleEndian.Uint32(b[42:])),
	}
	encrypted := b[8]&1 != 0
	b = b[zipCentralLen:]
	if name+extra+comment > len(b) {
		return m, nil, zipError(off, "a member passes the end of the directory")
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
		return zipError(off, "a member of a negative size")
	}
	return nil
}

// data returns where the bytes of a member lie in a zip of size bytes. The
// lengths of name and extra fields that count are those of the local header.
// ErrUnsupported for a member that is not stored.
func (m Member) data(r io.ReaderAt, size int64) (off int64, err error) {
	if m.Method != 0 {
		return 0, fault.New(fault.ErrUnsupported, "zip", m.Name, "is compressed; members are read in place, so they have to be stored")
	}
	if m.Header > size-zipLocalLen || m.Packed != m.Size {
		return 0, zipError(m.Header, "a member lies outside the file")
	}
	b, err := readAt(r, m.Header, zipLocalLen)
	if err != nil {
		return 0, err
	}
	off = m.Header + zipLocalLen + int64(binary.LittleEndian.Uint16(b[26:])) + int64(binary.LittleEndian.Uint16(b[28:]))
	if string(b[:4]) != zipLocal || off > size || m.Packed > size-off {
		return 0, zipError(m.Header, "a member lies outside the file")
	}
	return off, nil
}

// archive is the files of a store in a zip.
type archive struct {
	f       source
	size    int64
	members map[string]Member
}

func (a *archive) close() error { return a.f.Close() }

// list leaves out what is compressed: it is not served.
func (a *archive) list(context.Context) ([]string, error) {
	var files []string
	for name, m := range a.members {
		if m.Method == 0 {
			files = append(files, name)
		}
	}
	slices.Sort(files)
	return files, nil
}

func (a *archive) place(name string) (place, error) {
	m, ok := a.members[name]
	if !ok {
		return place{}, fault.New(fault.ErrNotFound, "zip", name, "no such member")
	}
	off, err := m.data(a.f, a.size)
	return place{file: a.f, name: name, off: off, size: m.Size}, err
}

// openZip opens the DictStore or TreeStore in a zip. f is closed with it, not
// if this fails.
func openZip(ctx context.Context, f source, name string, o Options) (Container, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	members, err := ParseZip(f, info.Size, o.Limits.Meta)
	if err != nil {
		return nil, &fault.Error{Format: "blosc2", Item: name, Off: -1, Err: err}
	}
	a := &archive{f: f, size: info.Size, members: map[string]Member{}}
	for _, m := range members {
		a.members[m.Name] = m
	}
	d, err := newDictStore(ctx, name, a, o)
	if err != nil {
		return nil, err
	}
	return d.orTree(), nil
}
