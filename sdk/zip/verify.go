package zip

import (
	"context"
	"hash/crc32"
	"io"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

const verified = 1 << 20 // bytes of a member that are held against its checksum at a time

// Verify holds every member against its CRC-32, and calls report for those that
// are not what was packed, or that cannot be read. It returns how many it
// tried. An error means that it could not go on: the store failed, or ctx ended.
func (s *Store) Verify(ctx context.Context, report func(name string, err error)) (checked int64, err error) {
	a := s.now.Load()
	for _, name := range a.names {
		m := a.members[name]
		if m == nil {
			continue
		}
		checked++
		sum, at := uint32(0), int64(0)
		for err == nil && at < m.Size {
			var bs [][]byte
			n := min(verified, m.Size-at)
			if bs, _, err = s.ReadRanges(ctx, name, []storage.Range{{Off: at, Len: n}}, a.info.Version); err == nil {
				sum = crc32.Update(sum, crc32.IEEETable, bs[0])
				at += n
			}
		}
		if err == nil {
			err = m.matches(sum)
		}
		switch fault.CodeOf(err) {
		case 0:
		case fault.CodeCorrupt, fault.CodeUnsupported, fault.CodeLimit:
			report(name, err)
			err = nil
		default:
			return checked, err
		}
	}
	return checked, nil
}

// Check holds the bytes of a stored member, which r has from off on, against its
// CRC-32: ErrCorrupt.
func (m Member) Check(ctx context.Context, r io.ReaderAt, off int64) error {
	b := make([]byte, min(verified, m.Size))
	sum := uint32(0)
	for at := int64(0); at < m.Size; {
		if err := storage.Ended(ctx, m.Name); err != nil {
			return err
		}
		part := b[:min(int64(len(b)), m.Size-at)]
		if n, err := r.ReadAt(part, off+at); n < len(part) {
			if err == io.EOF {
				err = fault.At(fault.ErrCorrupt, "zip", m.Name, off+at+int64(n), "ends early")
			}
			return err
		}
		sum = crc32.Update(sum, crc32.IEEETable, part)
		at += int64(len(part))
	}
	return m.matches(sum)
}

func (m Member) matches(sum uint32) error {
	if sum == m.CRC {
		return nil
	}
	return fault.At(fault.ErrCorrupt, "zip", m.Name, m.Header, "the CRC-32 of the member is wrong")
}
