package storage

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
)

// Learner is an optional power of a Fetcher: it carries what stores over it
// learn of servers from one to the next.
type Learner interface {
	Servers() *Servers // always the same
}

// Servers remembers what web servers take, by origin. The zero value is ready.
// Safe for concurrent use.
type Servers struct {
	mu       sync.Mutex
	byOrigin map[string]*server
}

// maxServers bounds what is remembered; those beyond are learned anew.
const maxServers = 1024

// of returns what is known of the server of a URL. A nil Servers remembers
// nothing from store to store.
func (s *Servers) of(url string) *server {
	if s == nil {
		return new(server)
	}
	origin := url
	if scheme := strings.Index(url, "://"); scheme >= 0 {
		if end := strings.IndexByte(url[scheme+3:], '/'); end >= 0 {
			origin = url[:scheme+3+end]
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.byOrigin[origin]
	if v == nil {
		v = new(server)
		if s.byOrigin == nil || len(s.byOrigin) >= maxServers {
			s.byOrigin = map[string]*server{}
		}
		s.byOrigin[origin] = v
	}
	return v
}

// server is what was learned of one.
type server struct {
	noSuffix atomic.Bool // a suffix range failed where an explicit one did not
	noHead   atomic.Bool // HEAD failed where a range did not

	mu    sync.Mutex
	trial chan struct{} // closed when the first suffix range is settled; nil before it
}

// trySuffix reports whether to ask for a suffix range. The first who asks
// goes ahead and has to call settle in the end; others wait until then.
func (s *server) trySuffix(ctx context.Context, key string) (works bool, settle func(), err error) {
	s.mu.Lock()
	trial := s.trial
	if trial == nil {
		s.trial = make(chan struct{})
		trial = s.trial
		s.mu.Unlock()
		return true, func() { close(trial) }, nil
	}
	s.mu.Unlock()
	select {
	case <-trial:
	case <-ctx.Done():
		return false, nil, Ended(ctx, key)
	}
	return !s.noSuffix.Load(), func() {}, nil
}
