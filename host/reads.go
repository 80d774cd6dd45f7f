package host

import (
	"encoding/binary"
	"math"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/wasm/wire"
)

const (
	readSize  = 32
	rangeSize = 32
	infoSize  = 184
	listSize  = 20
)

// lastRead remembers the strings of the last read: reads of one shard follow
// each other, and each would otherwise make its key and version anew.
type lastRead struct {
	key  string
	want storage.Version
}

func (l *lastRead) set(key, want []byte) (string, storage.Version) {
	if string(key) != l.key {
		l.key = string(key)
	}
	if string(want) != string(l.want) {
		l.want = storage.Version(want)
	}
	return l.key, l.want
}

// gap is one gh_range: what is asked for, and where it goes.
type gap struct {
	storage.Range
	buf []byte
	at  []byte // the struct itself
}

// readRanges is the import read_ranges.
func readRanges(c *callContext, args []uint64) (int32, error) {
	in := c.in
	req, err := in.window(args[1], readSize)
	if err != nil {
		return 0, err
	}
	info, err := in.window(args[2], infoSize)
	if err != nil {
		return 0, err
	}
	st := in.sandbox.stores.get(u32(req, 0))
	if st == nil {
		return 0, fault.New(fault.ErrInvalid, "store", "", "there is no store of this number")
	}
	keyBytes, err := in.window(u64(req, 8), u64(req, 12))
	if err != nil {
		return 0, err
	}
	wantBytes, err := in.window(u64(req, 16), u64(req, 20))
	if err != nil {
		return 0, err
	}
	key, want := in.last.set(keyBytes, wantBytes)
	n := u32(req, 28)
	if n > math.MaxUint32/rangeSize {
		return 0, fault.New(fault.ErrInvalid, "guest", "", "names bytes outside its memory")
	}
	ranges, err := in.window(u64(req, 24), uint64(n)*rangeSize)
	if err != nil {
		return 0, err
	}
	if n == 1 && (u32(req, 4)&wire.ReadKeep == 0 || len(in.sandbox.pool.slots) == 1) {
		g, err := in.gap(ranges)
		if err != nil {
			return 0, err
		}
		if br, ok := st.(storage.BufferReader); ok && g.Off >= 0 && g.Len == int64(len(g.buf)) {
			return readInto(c, br, key, want, g, info)
		}
	}
	return copyRanges(c, u32(req, 0), st, key, want, ranges, u32(req, 4), info)
}

func (in *instance) gap(b []byte) (gap, error) {
	buf, err := in.window(u64(b, 16), u64(b, 20))
	return gap{storage.Range{Off: i64(b, 0), Len: i64(b, 8)}, buf, b}, err
}

// readInto reads straight into the guest's memory.
func readInto(c *callContext, br storage.BufferReader, key string, want storage.Version, g gap, info []byte) (int32, error) {
	m, oi, err := br.ReadInto(c.Context, key, g.Off, g.buf, want)
	if err != nil {
		return 0, err
	}
	if err := c.read(int64(m)); err != nil {
		return 0, err
	}
	binary.LittleEndian.PutUint32(g.at[24:], uint32(m))
	return 1, putInfo(info, oi)
}

// copyRanges reads and copies. Of a range whose length is not known, or more
// than there is room for, it asks for one byte more than the room, so that
// no object is read whole to find that it does not fit.
func copyRanges(c *callContext, id uint32, st storage.Store, key string, want storage.Version, ranges []byte, flags uint32, info []byte) (int32, error) {
	n := len(ranges) / rangeSize
	gaps := make([]gap, n)
	asked := make([]storage.Range, n)
	for i := range gaps {
		g, err := c.in.gap(ranges[i*rangeSize:][:rangeSize])
		if err != nil {
			return 0, err
		}
		gaps[i], asked[i] = g, g.Range
		room := int64(len(g.buf))
		switch {
		case g.Off < 0 && g.Len > room:
			putNeed(info, g.Len)
			return int32(fault.CodeTooSmall), nil
		case g.Off >= 0 && (g.Len < 0 || g.Len > room):
			asked[i].Len = room + 1
		}
	}
	var bs [][]byte
	var oi storage.ObjectInfo
	var err error
	switch reload, by := flags&wire.ReadReload != 0, c.in.cache; {
	case flags&wire.ReadKeep != 0 && by != nil && len(c.in.sandbox.pool.slots) > 1:
		bs, oi, err = c.in.sandbox.shared.read(c.Context, by, id, st, key, asked, want, reload)
	case flags&wire.ReadKeep != 0:
		bs, oi, err = storage.ReadShared(c.Context, st, key, asked, want, reload)
	default:
		bs, oi, err = st.ReadRanges(c.Context, key, asked, want)
	}
	if err != nil {
		return 0, err
	}
	if len(bs) != n {
		return 0, fault.New(fault.ErrIO, "store", key, "answers another number of ranges")
	}
	var need, total int64
	for _, b := range bs {
		total += int64(len(b))
	}
	if err := c.read(total); err != nil {
		return 0, err
	}
	for i, g := range gaps {
		if len(bs[i]) > len(g.buf) {
			need = max(need, needed(g.Range, oi.Size, int64(len(g.buf))))
			continue
		}
		copy(g.buf, bs[i])
		binary.LittleEndian.PutUint32(g.at[24:], uint32(len(bs[i])))
	}
	if need > 0 {
		putNeed(info, need)
		return int32(fault.CodeTooSmall), nil
	}
	return int32(n), putInfo(info, oi)
}

// needed is how much room a range takes that has more than room bytes.
func needed(r storage.Range, size, room int64) int64 {
	switch {
	case size >= 0:
		_, n := r.Resolve(size)
		return max(n, room+1)
	case r.Len > 0:
		return min(r.Len, 8*room)
	}
	return 8 * room
}

// list is the import list.
func list(c *callContext, args []uint64) (int32, error) {
	in := c.in
	req, err := in.window(args[1], listSize)
	if err != nil {
		return 0, err
	}
	info, err := in.window(args[2], infoSize)
	if err != nil {
		return 0, err
	}
	prefix, err := in.window(u64(req, 4), u64(req, 8))
	if err != nil {
		return 0, err
	}
	buf, err := in.window(u64(req, 12), u64(req, 16))
	if err != nil {
		return 0, err
	}
	l, ok := in.sandbox.stores.get(u32(req, 0)).(storage.Lister)
	if !ok {
		return 0, fault.New(fault.ErrUnsupported, "store", string(prefix), "cannot list")
	}
	names, err := l.List(c.Context, string(prefix))
	if err == nil {
		err = c.read(sizeOf(names))
	}
	if err != nil {
		return 0, err
	}
	return putNames(buf, info, 32, names), nil
}

func sizeOf(names []string) (n int64) {
	for _, name := range names {
		n += int64(len(name))
	}
	return n
}

// putNames packs names: u32 length, UTF-8. Where they need more room, how much
// goes to answer[at:].
func putNames(buf, answer []byte, at int, names []string) int32 {
	need := 0
	for _, name := range names {
		need += 4 + len(name)
	}
	if need > len(buf) {
		binary.LittleEndian.PutUint64(answer[at:], uint64(need))
		return int32(fault.CodeTooSmall)
	}
	for _, name := range names {
		binary.LittleEndian.PutUint32(buf, uint32(len(name)))
		buf = buf[4+copy(buf[4:], name):]
	}
	return int32(need)
}

// putInfo fills in gh_info for bytes that were read.
func putInfo(info []byte, oi storage.ObjectInfo) error {
	if len(oi.Version) > 128 {
		return fault.New(fault.ErrUnsupported, "store", "", "its versions are longer than 128 bytes")
	}
	binary.LittleEndian.PutUint64(info, uint64(oi.Size))
	binary.LittleEndian.PutUint32(info[44:], uint32(len(oi.Version)))
	copy(info[48:], oi.Version)
	return nil
}

func putNeed(info []byte, n int64) { binary.LittleEndian.PutUint64(info[32:], uint64(n)) }

func u64(b []byte, off int) uint64 { return uint64(u32(b, off)) }

func i64(b []byte, off int) int64 { return int64(binary.LittleEndian.Uint64(b[off:])) }
