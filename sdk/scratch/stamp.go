package scratch

import (
	"encoding/binary"
	"time"

	"github.com/gridhold/gridhold/sdk/storage"
)

// stamp is the state of a source when its pixels were taken. The zero stamp
// is that of a source that tells nothing about itself: it never changes.
//
// Among the times is that of the last change of anything about the file,
// which nobody sets, so that putting back the other time hides nothing.
type stamp struct {
	size, modified, changed int64 // bytes; ns since 1970
	dev, ino                uint64
	misfit                  bool // the file has become another kind of thing; nothing of it is held
}

func stampOf(i storage.FileInfo) stamp {
	s := stamp{size: i.Size, modified: i.ModTime.UnixNano(), dev: i.Dev, ino: i.Ino}
	if !i.ChangeTime.IsZero() {
		s.changed = i.ChangeTime.UnixNano()
	}
	return s
}

// same reports whether two stamps are of one state of a source.
func (s stamp) same(t stamp) bool {
	t.misfit = s.misfit
	return s == t
}

// unsettled returns for how long a change of the source might still leave the
// same stamp: as long as the clock that stamps files has not moved on. That
// is a tick of 1 to 16 ms, or up to 2 s where only whole seconds are kept. A
// stamp of the future says nothing of now.
func (s stamp) unsettled(now time.Time) time.Duration {
	if s.same(stamp{}) {
		return 0
	}
	last := max(s.modified, s.changed)
	tick := 20 * time.Millisecond
	if last%int64(time.Second) == 0 {
		tick = 2 * time.Second
	}
	age := now.Sub(time.Unix(0, last))
	if age < -tick {
		return 0
	}
	return max(tick-age, 0)
}

const stampBytes = 64

func (s stamp) encode() []byte {
	b := make([]byte, stampBytes)
	for i, v := range [...]uint64{uint64(s.size), uint64(s.modified), uint64(s.changed), s.dev, s.ino} {
		binary.LittleEndian.PutUint64(b[8*i:], v)
	}
	if s.misfit {
		b[40] = 1
	}
	binary.LittleEndian.PutUint32(b[60:], storage.UpdateCRC(0, b[:60]))
	return b
}

func parseStamp(b []byte) (s stamp, ok bool) {
	if storage.UpdateCRC(0, b[:60]) != binary.LittleEndian.Uint32(b[60:]) {
		return stamp{}, false
	}
	u := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	return stamp{int64(u(0)), int64(u(1)), int64(u(2)), u(3), u(4), b[40] == 1}, true
}
