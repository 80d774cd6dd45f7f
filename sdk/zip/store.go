package zip

import (
	"context"
	"encoding/binary"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/gridhold/gridhold/sdk/cache"
	"github.com/gridhold/gridhold/sdk/codec"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// Options of a Store. The zero value is the advice.
type Options struct {
	Directory int64 // bytes of the largest directory; 0: 256 MiB
	Member    int64 // bytes of the largest deflated member, packed or not; 0: 1 GiB
	Keep      int64 // bytes of deflated members that are kept decoded; 0: 64 MiB, < 0: none
}

// Store is the members of an archive under their names. It is a Lister too.
// Safe for concurrent use.
//
// The version of every member is that of the archive: when it is replaced,
// all of them were. Who reads a member then without wanting a version gets the
// new one, after its directory was read anew. Where the store below knows no
// versions, the archive must not change while it is open; and where it cannot
// tell cheaply (storage.Checker), a name that the directory lacks is absent
// until another member was read.
//
// Of members of one name the last in the directory counts: who writes Zarr by
// appending to an archive (zarr-python) replaces its metadata so.
//
// Errors: those of the store below, and of ParseDirectory; ErrStale also for an
// archive that was removed; ErrUnsupported for a member of another method than
// Stored and Deflated; ErrLimit.
type Store struct {
	inner   storage.Store
	key     string
	o       Options
	inflate codec.Bytes

	now  atomic.Pointer[archive]
	turn chan struct{} // to read the directory anew
	kept *cache.Cache[inflated, []byte]
}

// inflated names a deflated member of an archive in one state.
type inflated struct {
	version storage.Version
	name    string
}

// archive is a directory that was read, and the archive's state then.
type archive struct {
	info    storage.ObjectInfo
	members map[string]*member
	names   []string // sorted
}

type member struct {
	Member
	data atomic.Int64 // where its bytes begin; 0: not known yet
}

// Open reads the directory of the archive that is the object under key:
// one request of 64 KiB where the directory is no larger, else two or three.
// The store below has to tell the size of the object.
func Open(ctx context.Context, inner storage.Store, key string, o Options) (*Store, error) {
	if o.Directory == 0 {
		o.Directory = 256 << 20
	}
	if o.Member == 0 {
		o.Member = 1 << 30
	}
	if o.Keep == 0 {
		o.Keep = 64 << 20
	}
	gzip, err := codec.New("gzip", nil)
	if err != nil {
		return nil, err
	}
	s := &Store{inner: inner, key: key, o: o, inflate: gzip, turn: make(chan struct{}, 1)}
	s.kept = cache.New[inflated](max(o.Keep, 0), func(b []byte) int64 { return int64(len(b)) + 128 })
	return s, s.reopen(ctx, nil)
}

// reopen reads the directory, unless somebody did since it was old.
func (s *Store) reopen(ctx context.Context, old *archive) error {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return storage.Ended(ctx, s.key)
	}
	if s.now.Load() != old {
		return nil
	}
	a, err := s.readDirectory(ctx, old != nil)
	if err == nil {
		s.now.Store(a)
	}
	return err
}

func (s *Store) readDirectory(ctx context.Context, anew bool) (*archive, error) {
	bs, info, err := storage.ReadShared(ctx, s.inner, s.key, []storage.Range{storage.Suffix(EndLen + longestComment)}, "", anew)
	if err != nil {
		return nil, err
	}
	if info.Size < 0 {
		return nil, fault.New(fault.ErrUnsupported, "zip", s.key, "the store does not tell the size of the archive")
	}
	r := reader{ctx, s, info.Version, info.Size - int64(len(bs[0])), bs[0]}
	members, err := parseDirectory(r, info.Size, s.o.Directory)
	if err != nil {
		return nil, &fault.Error{Format: "zip", Item: s.key, Off: -1, Err: err}
	}
	a := &archive{info: info, members: make(map[string]*member, len(members)), names: make([]string, 0, len(members))}
	for _, m := range members {
		if a.members[m.Name] == nil {
			a.names = append(a.names, m.Name)
		}
		a.members[m.Name] = &member{Member: m}
	}
	slices.Sort(a.names)
	return a, nil
}

// reader is the archive in one version, the end of which is in memory.
type reader struct {
	ctx     context.Context
	s       *Store
	version storage.Version
	off     int64
	tail    []byte
}

// ReadAt is io.ReaderAt's.
func (r reader) ReadAt(p []byte, off int64) (int, error) {
	var n int
	if off >= r.off {
		n = copy(p, r.tail[min(off-r.off, int64(len(r.tail))):])
	} else {
		var err error
		if n, _, err = storage.ReadInto(r.ctx, r.s.inner, r.s.key, off, p, r.version); err != nil {
			return n, err
		}
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Identity names the archive where the store below has a name; see
// storage.Same.
func (s *Store) Identity() string {
	if named, ok := s.inner.(interface{ Identity() string }); ok && named.Identity() != "" {
		return "zip:" + named.Identity() + "!" + s.key
	}
	return ""
}

// List is storage.Lister's.
func (s *Store) List(ctx context.Context, prefix string) ([]string, error) {
	if err := storage.CheckPrefix(prefix); err != nil {
		return nil, err
	}
	if err := storage.Ended(ctx, prefix); err != nil {
		return nil, err
	}
	all := s.now.Load().names
	first, _ := slices.BinarySearch(all, prefix)
	names := []string{}
	for _, name := range all[first:] {
		rest, ok := strings.CutPrefix(name, prefix)
		if !ok {
			break
		}
		if i := strings.IndexByte(rest, '/'); i >= 0 {
			rest = rest[:i+1]
		}
		if n := len(names); n == 0 || names[n-1] != rest {
			names = append(names, rest)
		}
	}
	slices.Sort(names) // "a/" comes before "a.b" among names, not among keys
	return slices.Compact(names), nil
}

// ReadRanges is storage.Store's.
func (s *Store) ReadRanges(ctx context.Context, key string, rs []storage.Range, want storage.Version) ([][]byte, storage.ObjectInfo, error) {
	if err := storage.CheckRead(ctx, key, rs); err != nil {
		return nil, storage.ObjectInfo{}, err
	}
	for attempt := 0; ; attempt++ {
		a := s.now.Load()
		bs, info, err := s.read(ctx, a, key, rs, want)
		if attempt > 0 || !stale(err) {
			return bs, info, err
		}
		if err := s.reopen(ctx, a); err != nil {
			return nil, storage.ObjectInfo{}, s.gone(err)
		}
	}
}

// gone is the error of an archive that is not there any more. It is not
// ErrNotFound, which says that a member is missing.
func (s *Store) gone(err error) error {
	if fault.CodeOf(err) == fault.CodeNotFound {
		return fault.New(fault.ErrStale, "zip", s.key, "the archive was removed")
	}
	return err
}

func stale(err error) bool { return fault.CodeOf(err) == fault.CodeStale }

func (s *Store) read(ctx context.Context, a *archive, key string, rs []storage.Range, want storage.Version) ([][]byte, storage.ObjectInfo, error) {
	m := a.members[key]
	switch {
	case m == nil:
		return nil, storage.ObjectInfo{}, s.absent(ctx, a, key)
	case want != "" && want != a.info.Version:
		return nil, storage.ObjectInfo{}, storage.Stale(key)
	}
	info := storage.ObjectInfo{Size: m.Size, Version: a.info.Version}
	switch m.Method {
	case Stored:
		bs, err := s.stored(ctx, a, m, rs)
		return bs, info, err
	case Deflated:
		whole, err := s.deflated(ctx, a, m)
		if err != nil {
			return nil, info, err
		}
		bs := make([][]byte, len(rs))
		for i, r := range rs {
			off, n := r.Resolve(m.Size)
			bs[i] = append(make([]byte, 0, n), whole[off:off+n]...)
		}
		return bs, info, nil
	}
	return nil, info, fault.New(fault.ErrUnsupported, "zip", key, "is packed by method "+strconv.Itoa(m.Method))
}

// absent is the error of a name that the directory does not have: of one that
// is out of date, if the store below can tell cheaply.
func (s *Store) absent(ctx context.Context, a *archive, key string) error {
	if c, ok := s.inner.(storage.Checker); ok && a.info.Version != "" {
		if err := c.Check(ctx, s.key, a.info.Version); err != nil {
			return s.gone(err)
		}
	}
	return storage.Absent(key)
}

// stored reads ranges of a member in place. The first time, it reads where the
// bytes begin in the same call, and takes for granted meanwhile that the local
// header has no more in it than the directory says; mostly that is so.
func (s *Store) stored(ctx context.Context, a *archive, m *member, rs []storage.Range) ([][]byte, error) {
	if data := m.data.Load(); data != 0 {
		return s.inPlace(ctx, a, m, data, rs, nil)
	}
	var head []byte
	guess := m.Header + LocalLen + int64(len(m.Name))
	bs, err := s.inPlace(ctx, a, m, min(guess, a.info.Size-m.Size), rs, &head)
	if err != nil {
		return nil, err
	}
	data, err := m.Member.data(head, a.info.Size)
	if err != nil {
		return nil, err
	}
	m.data.Store(data)
	if data == guess {
		return bs, nil
	}
	return s.inPlace(ctx, a, m, data, rs, nil)
}

// inPlace reads ranges of a member whose bytes begin at data, and its local
// header if that is asked for.
func (s *Store) inPlace(ctx context.Context, a *archive, m *member, data int64, rs []storage.Range, head *[]byte) ([][]byte, error) {
	within := make([]storage.Range, len(rs), len(rs)+1)
	for i, r := range rs {
		off, n := r.Resolve(m.Size)
		within[i] = storage.Range{Off: data + off, Len: n}
	}
	if head != nil {
		within = append(within, storage.Range{Off: m.Header, Len: LocalLen + int64(len(m.Name))})
	}
	bs, _, err := s.inner.ReadRanges(ctx, s.key, within, a.info.Version)
	if err != nil {
		return nil, s.gone(err)
	}
	if head != nil {
		*head = bs[len(rs)]
	}
	for i, b := range bs[:len(rs)] {
		if int64(len(b)) != within[i].Len {
			return nil, fault.At(fault.ErrCorrupt, "zip", m.Name, within[i].Off+int64(len(b)), "ends early")
		}
	}
	return bs[:len(rs):len(rs)], nil
}

// most is how many bytes a byte of deflate can become.
const most = 1032

// deflated returns a whole member, which must not be changed.
func (s *Store) deflated(ctx context.Context, a *archive, m *member) ([]byte, error) {
	switch {
	case m.Size > s.o.Member || m.Packed > s.o.Member:
		return nil, fault.New(fault.ErrLimit, "zip", m.Name, "has "+strconv.FormatInt(max(m.Size, m.Packed), 10)+" bytes, over the limit of "+strconv.FormatInt(s.o.Member, 10))
	case m.Size/most > m.Packed:
		return nil, fault.At(fault.ErrCorrupt, "zip", m.Name, m.Header, "cannot become so much")
	}
	b, err := s.kept.Get(ctx, inflated{a.info.Version, m.Name}, func(ctx context.Context) ([]byte, error) {
		packed, err := s.packed(ctx, a, m)
		if err != nil {
			return nil, err
		}
		return s.unpack(ctx, m.Member, packed)
	})
	if err != nil {
		if ended := storage.Ended(ctx, m.Name); ended != nil {
			return nil, ended // the cache gives the context's own error
		}
	}
	return b, err
}

// packed reads the bytes of a member as they lie in the archive.
func (s *Store) packed(ctx context.Context, a *archive, m *member) ([]byte, error) {
	// Its local header and all that can be before the bytes, in one read.
	room := LocalLen + int64(len(m.Name))
	off := m.Header
	n := min(room+m.Packed+slack, a.info.Size-off)
	bs, _, err := s.inner.ReadRanges(ctx, s.key, []storage.Range{{Off: off, Len: n}}, a.info.Version)
	if err != nil {
		return nil, s.gone(err)
	}
	data, err := m.Member.data(bs[0][:min(room, int64(len(bs[0])))], a.info.Size)
	if err != nil {
		return nil, err
	}
	if at := data - off; at+m.Packed <= int64(len(bs[0])) {
		return bs[0][at : at+m.Packed], nil
	}
	bs, _, err = s.inner.ReadRanges(ctx, s.key, []storage.Range{{Off: data, Len: m.Packed}}, a.info.Version)
	if err != nil {
		return nil, s.gone(err)
	}
	return bs[0], nil
}

// slack is more than the extra fields of a local header mostly have.
const slack = 64

// unpack decodes a deflated member. With other ends such a stream is gzip,
// whose decoder verifies the checksum and the size.
func (s *Store) unpack(ctx context.Context, m Member, packed []byte) ([]byte, error) {
	b := make([]byte, 0, len(packed)+18)
	b = append(b, 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255)
	b = append(b, packed...)
	b = binary.LittleEndian.AppendUint32(b, m.CRC)
	b = binary.LittleEndian.AppendUint32(b, uint32(m.Size))
	out, err := s.inflate.Decode(ctx, nil, b, int(m.Size))
	if err == nil && int64(len(out)) != m.Size {
		err = fault.New(fault.ErrCorrupt, "zip", m.Name, "has another size than the directory says")
	}
	if err != nil {
		return nil, &fault.Error{Format: "zip", Item: m.Name, Off: m.Header, Err: err}
	}
	return out, nil
}
