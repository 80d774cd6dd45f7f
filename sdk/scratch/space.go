package scratch

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gridhold/gridhold/sdk/storage"
)

// space watches the room that a scratch has to grow.
type space struct {
	o    Options
	fs   storage.FS // nil: in memory
	name string

	until   atomic.Int64 // nothing is taken in before, ns since 1970
	allowed atomic.Int64 // bytes that may be taken in before the file system is asked again
	touched atomic.Int64

	mu      sync.Mutex
	refused error // why taking in pauses
}

// backOff is for how long nothing is taken in after a run could not be
// written: a full disk is not asked again at every read.
const backOff = time.Second

// lookEvery is how many bytes are taken in, at most, between two looks at what
// is free.
const lookEvery = 64 << 20

func (s *space) pause(now time.Time, err error) {
	s.mu.Lock()
	s.refused = err
	s.mu.Unlock()
	s.until.Store(now.Add(backOff).UnixNano())
}

func (s *space) pausing(now time.Time) bool {
	until := s.until.Load()
	left := until - now.UnixNano()
	return until != 0 && left > 0 && left <= int64(backOff) // more is left once the clock is put back
}

// why returns the last reason for a pause.
func (s *space) why() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused
}

// short reports whether n bytes more would take what is to be left free.
func (s *space) short(ctx context.Context, n int64) bool {
	if s.o.KeepFree <= 0 || s.fs == nil {
		return false
	}
	if s.allowed.Add(-n) >= 0 {
		return false
	}
	info, err := s.fs.StatFS(ctx, parent(s.name))
	if err != nil || info.Free < 0 {
		return false // the system itself says when there is no more
	}
	room := info.Free - s.o.KeepFree - n
	s.allowed.Store(min(max(room/2, 0), lookEvery)) // half: others write as well
	return room < 0
}
