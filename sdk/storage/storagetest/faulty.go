package storagetest

import (
	"context"
	"sync"

	"github.com/gridhold/gridhold/sdk/storage"
)

// Fault is what goes wrong with one read.
type Fault struct {
	Err     error           // answered in place of the bytes
	Shorten int             // bytes that are missing at the end of each answer, without an error
	Version storage.Version // answered as the version, and compared with the one that was wanted
	Flip    bool            // the last byte of each answer is another
	Panic   any             // thrown
}

// Faulty is a store whose n-th read goes wrong. Safe for concurrent use.
type Faulty struct {
	inner storage.Store
	mu    sync.Mutex
	reads int
	plan  map[int]Fault
}

// Break wraps a store. plan says what happens to which read, counted from 0
// over all keys; the others are fine.
func Break(inner storage.Store, plan map[int]Fault) *Faulty {
	return &Faulty{inner: inner, plan: plan}
}

// Reads counts the reads so far.
func (f *Faulty) Reads() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.reads
}

// ReadRanges is Store's.
func (f *Faulty) ReadRanges(ctx context.Context, key string, rs []storage.Range, want storage.Version) ([][]byte, storage.ObjectInfo, error) {
	f.mu.Lock()
	fault, wrong := f.plan[f.reads]
	f.reads++
	f.mu.Unlock()
	if !wrong {
		return f.inner.ReadRanges(ctx, key, rs, want)
	}
	if fault.Panic != nil {
		panic(fault.Panic)
	}
	if fault.Err != nil {
		return nil, storage.ObjectInfo{}, fault.Err
	}
	if fault.Version != "" {
		if want != "" && want != fault.Version {
			return nil, storage.ObjectInfo{Size: -1, Version: fault.Version}, storage.Stale(key)
		}
		want = ""
	}
	bs, info, err := f.inner.ReadRanges(ctx, key, rs, want)
	if fault.Version != "" {
		info.Version = fault.Version
	}
	for i, b := range bs {
		bs[i] = b[:max(len(b)-fault.Shorten, 0)]
		if n := len(bs[i]); fault.Flip && n > 0 {
			bs[i][n-1] ^= 0xff
		}
	}
	return bs, info, err
}

// List is Lister's. It does not count as a read.
func (f *Faulty) List(ctx context.Context, prefix string) ([]string, error) {
	return listOf(ctx, f.inner, prefix)
}
