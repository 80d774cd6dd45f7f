package blosc2

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zip"
)

// ToB2Z writes the store as a zip of that name (.b2z; "": the store's own, in
// the file system that it is in, with that ending in place of .b2d), which
// appears in one step: leaves from the largest to the smallest, then embed.b2e, all stored,
// so that they can be read in place. Locks and what writers left behind stay
// out. ErrExists unless overwrite is set, and then a file of that name is
// replaced only if it is a zip. Nothing keeps the store from being written to
// meanwhile, unless it is a Snapshot.
func (d *DictStore) ToB2Z(ctx context.Context, fs storage.FS, name string, overwrite bool) error {
	if name == "" {
		name = strings.TrimSuffix(d.name, ".b2d") + ".b2z"
	}
	if overwrite {
		if err := zipOrNothing(ctx, fs, name); err != nil {
			return err
		}
	}
	leaves, err := d.leaves(ctx)
	if err != nil {
		return err
	}
	if p, ok := d.files.(*pinnedFiles); ok {
		leaves = p.names
	}
	var members []packed
	for _, file := range leaves {
		m, err := d.packed(ctx, file)
		if err != nil {
			return err
		}
		members = append(members, m)
	}
	slices.SortFunc(members, func(a, b packed) int {
		switch {
		case a.size > b.size || a.size == b.size && a.name < b.name:
			return -1
		}
		return 1
	})
	embed, err := d.packed(ctx, embedFile)
	if err != nil {
		return err
	}
	members = append(members, embed)
	return replace(ctx, fs, name, d.o.Durability, !overwrite, func(f storage.File) error {
		return d.pack(ctx, f, members)
	})
}

// zipOrNothing refuses to overwrite what is no zip.
func zipOrNothing(ctx context.Context, fs storage.FS, name string) error {
	f, err := fs.Open(ctx, name, storage.OpenRead)
	if fault.CodeOf(err) == fault.CodeNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if zip, err := isZip(f); err != nil || !zip {
		return fault.New(fault.ErrExists, "blosc2", name, "is no zip")
	}
	return nil
}

// packed is a member to be.
type packed struct {
	name string
	size int64
	at   int64 // of its local header
	crc  uint32
}

// packed opens a file of the store to see how long it is.
func (d *DictStore) packed(ctx context.Context, name string) (packed, error) {
	m := packed{name: name}
	err := d.withFile(ctx, name, func(_ io.ReaderAt, size int64) error {
		m.size = size
		return nil
	})
	return m, err
}

func (d *DictStore) withFile(ctx context.Context, name string, do func(r io.ReaderAt, size int64) error) error {
	if p, ok := d.files.(*pinnedFiles); ok {
		return p.with(ctx, d.embed.s, name, do)
	}
	where, err := d.files.place(name)
	if err != nil {
		return err
	}
	f, err := where.open(ctx, false)
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := where.extent(f)
	if err != nil {
		return err
	}
	return do(io.NewSectionReader(f, where.off, size), size)
}

const packPiece = 1 << 20 // bytes copied at a time

// pack writes the zip. The checksum of a member, which comes before it, is
// known after it.
func (d *DictStore) pack(ctx context.Context, f storage.File, members []packed) error {
	at := int64(0)
	buf := make([]byte, packPiece)
	for i := range members {
		m := &members[i]
		m.at = at
		at += int64(len(m.local()))
		err := d.withFile(ctx, m.name, func(r io.ReaderAt, size int64) error {
			if size != m.size {
				return fault.New(fault.ErrStale, "blosc2", m.name, "")
			}
			for off := int64(0); off < size; {
				if err := storage.Ended(ctx, m.name); err != nil {
					return err
				}
				piece := buf[:min(size-off, packPiece)]
				if err := readFull(r, piece, off); err != nil {
					return err
				}
				m.crc = crc32.Update(m.crc, crc32.IEEETable, piece)
				if _, err := f.WriteAt(piece, at+off); err != nil {
					return err
				}
				off += int64(len(piece))
			}
			return nil
		})
		if err != nil {
			return err
		}
		if _, err := f.WriteAt(m.local(), m.at); err != nil {
			return err
		}
		at += m.size
	}
	_, err := f.WriteAt(directoryOf(members, at), at)
	return err
}

const (
	zipDate   = 1<<5 | 1 // the first of January 1980: packing the same twice gives the same
	zipPlain  = 20       // version that reads stored members
	zipWide   = 45       // that reads what has more than 32 bits
	zipUTF8   = 1 << 11
	zip64Mark = math.MaxUint32
)

func (m *packed) wide() bool { return m.size >= zip64Mark || m.at >= zip64Mark }

// fields are those that local header and directory share: from the version
// to the length of the name.
func (m *packed) fields(b []byte) []byte {
	version, size := uint16(zipPlain), uint32(min(m.size, zip64Mark))
	if m.wide() {
		version, size = zipWide, zip64Mark
	}
	for _, v := range []uint16{version, zipUTF8, 0, 0, zipDate} {
		b = binary.LittleEndian.AppendUint16(b, v)
	}
	for _, v := range []uint32{m.crc, size, size} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return binary.LittleEndian.AppendUint16(b, uint16(len(m.name)))
}

// local is the local header.
func (m *packed) local() []byte {
	var extra []byte
	if m.wide() {
		extra = zip64Extra(m.size, m.size)
	}
	b := m.fields([]byte(zip.LocalMark))
	b = binary.LittleEndian.AppendUint16(b, uint16(len(extra)))
	return append(append(b, m.name...), extra...)
}

func zip64Extra(values ...int64) []byte {
	b := binary.LittleEndian.AppendUint16(nil, 1)
	b = binary.LittleEndian.AppendUint16(b, uint16(8*len(values)))
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, uint64(v))
	}
	return b
}

// directoryOf is the end of a zip, which begins at off.
func directoryOf(members []packed, off int64) []byte {
	var b []byte
	for i := range members {
		m := &members[i]
		at, version := uint32(min(m.at, zip64Mark)), uint16(zipPlain)
		var extra []byte
		if m.wide() {
			at, version = zip64Mark, zipWide
			extra = zip64Extra(m.size, m.size, m.at)
		}
		b = append(b, zip.CentralMark...)
		b = binary.LittleEndian.AppendUint16(b, version|3<<8) // made on Unix, for the modes
		b = m.fields(b)
		b = binary.LittleEndian.AppendUint16(b, uint16(len(extra)))
		b = append(b, make([]byte, 6)...)
		b = binary.LittleEndian.AppendUint32(b, 0o100644<<16)
		b = binary.LittleEndian.AppendUint32(b, at)
		b = append(append(b, m.name...), extra...)
	}
	n, count := int64(len(b)), len(members)
	if off+n >= zip64Mark || count >= math.MaxUint16 {
		b = append(b, zip.End64Mark...)
		b = binary.LittleEndian.AppendUint64(b, zip.End64Len-12)
		b = binary.LittleEndian.AppendUint16(b, zipWide|3<<8)
		b = binary.LittleEndian.AppendUint16(b, zipWide)
		b = append(b, make([]byte, 8)...)
		for _, v := range []int64{int64(count), int64(count), n, off} {
			b = binary.LittleEndian.AppendUint64(b, uint64(v))
		}
		b = append(append(b, zip.Locator64Mark...), 0, 0, 0, 0)
		b = binary.LittleEndian.AppendUint64(b, uint64(off+n))
		b = binary.LittleEndian.AppendUint32(b, 1)
	}
	b = append(append(b, zip.EndMark...), 0, 0, 0, 0)
	short := uint16(min(count, math.MaxUint16))
	b = binary.LittleEndian.AppendUint16(b, short)
	b = binary.LittleEndian.AppendUint16(b, short)
	b = binary.LittleEndian.AppendUint32(b, uint32(min(n, zip64Mark)))
	b = binary.LittleEndian.AppendUint32(b, uint32(min(off, zip64Mark)))
	return append(b, 0, 0)
}
