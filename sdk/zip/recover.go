package zip

import (
	"context"
	"encoding/binary"
	"io"
	"strings"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

const (
	flagEncrypted = 1 << 0
	flagFollowed  = 1 << 3 // sizes and checksum come after the bytes
)

// Recover finds the members of an archive without its directory, by their local
// headers: one after the other from the first byte on, all of them stored, each
// held against its CRC-32. end is where the directory begins, or is due if it is
// not there.
//
// With an error come the members before the one that it is about: ErrCorrupt if
// that is cut, or not what was packed, or lies where neither a member nor the
// directory is; ErrUnsupported if it is compressed, encrypted, or its header does
// not say its size. Otherwise as ParseDirectory.
func Recover(ctx context.Context, r io.ReaderAt, size int64) (members []Member, end int64, err error) {
	seen := map[string]bool{}
	for end < size {
		m, off, ok, err := localMember(r, end, size)
		if err != nil {
			return members, end, err
		}
		if !ok {
			return members, end, directoryAt(r, end, size)
		}
		if seen[m.Name] {
			return members, end, fault.New(fault.ErrCorrupt, "zip", m.Name, "is there twice")
		}
		seen[m.Name] = true
		if err := m.Check(ctx, r, off); err != nil {
			return members, end, err
		}
		if !strings.HasSuffix(m.Name, "/") {
			members = append(members, m)
		}
		end = off + m.Packed
	}
	return members, end, nil
}

// localMember reads the local header at an offset, and returns where the bytes
// begin; false: there is something else.
func localMember(r io.ReaderAt, at, size int64) (m Member, off int64, ok bool, err error) {
	b, err := readAt(r, at, min(LocalLen, size-at))
	if err != nil || !strings.HasPrefix(string(b), LocalMark) {
		return m, 0, false, err
	}
	if len(b) < LocalLen {
		return m, 0, false, corrupt(at, "ends early")
	}
	flags, name := binary.LittleEndian.Uint16(b[6:]), int64(binary.LittleEndian.Uint16(b[26:]))
	n := name + int64(binary.LittleEndian.Uint16(b[28:]))
	m = Member{
		Method: int(binary.LittleEndian.Uint16(b[8:])), CRC: binary.LittleEndian.Uint32(b[14:]),
		Packed: int64(binary.LittleEndian.Uint32(b[18:])), Size: int64(binary.LittleEndian.Uint32(b[22:])),
	}
	off = at + LocalLen + n
	if off > size {
		return m, 0, false, corrupt(at, "ends early")
	}
	if b, err = readAt(r, at+LocalLen, n); err != nil {
		return m, 0, false, err
	}
	m.Name = string(b[:name])
	if err := m.widen(b[name:], at); err != nil {
		return m, 0, false, err
	}
	m.Header = at
	switch {
	case flags&(flagEncrypted|flagFollowed) != 0 || m.Method != Stored:
		err = fault.New(fault.ErrUnsupported, "zip", m.Name, "is not stored, or its header does not say its size")
	case !storage.ValidKey(strings.TrimSuffix(m.Name, "/")):
		err = fault.New(fault.ErrCorrupt, "zip", m.Name, "a name that leads elsewhere")
	case m.Packed != m.Size:
		err = fault.New(fault.ErrCorrupt, "zip", m.Name, "is stored, and of two sizes")
	case m.Size > size-off:
		err = fault.At(fault.ErrCorrupt, "zip", m.Name, at, "ends early")
	}
	return m, off, true, err
}

// directoryAt returns ErrCorrupt unless the directory begins, or began, there.
func directoryAt(r io.ReaderAt, at, size int64) error {
	b, err := readAt(r, at, min(4, size-at))
	if err != nil {
		return err
	}
	for _, mark := range []string{CentralMark, EndMark, End64Mark} {
		if len(b) > 2 && strings.HasPrefix(mark, string(b)) { // the last byte may be missing
			return nil
		}
	}
	if _, off, _, err := findDirectory(r, size); err == nil && off == at {
		return nil
	}
	return corrupt(at, "neither a member nor the directory")
}
