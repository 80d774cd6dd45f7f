package engine

import (
	"context"
	"math"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/wasm/wire"
)

const (
	// firstRoom is offered for bytes whose number is not known.
	firstRoom = 64 << 10
	// sureRoom is the most that is offered at once for a range that others
	// read too: such ranges are often far shorter than what is asked for.
	sureRoom = 1 << 20
)

// store is a host store. Two of the same number are equal.
type store struct {
	engine *Engine
	id     uint32
}

// ReadInto implements [storage.BufferReader].
func (s store) ReadInto(ctx context.Context, key string, off int64, dst []byte, want storage.Version) (int, storage.ObjectInfo, error) {
	if len(dst) > math.MaxInt32 {
		return 0, storage.ObjectInfo{}, tooLarge(key)
	}
	// The key needs no check: its index or metadata were read before.
	w, err := s.begin(key, want, 0)
	if err != nil {
		return 0, storage.ObjectInfo{}, err
	}
	defer s.engine.tokens.put(w)
	w.borrowed = true
	w.read.add(off, int64(len(dst)), dst)
	info, err := s.exchange(ctx, w, key, want)
	if err != nil {
		return 0, info, err
	}
	return int(w.read.Ranges[0].N), info, nil
}

// ReadRanges implements [storage.Store].
func (s store) ReadRanges(ctx context.Context, key string, rs []storage.Range, want storage.Version) ([][]byte, storage.ObjectInfo, error) {
	return s.readRanges(ctx, key, rs, want, 0)
}

// ReadShared implements [storage.SharedReader].
func (s store) ReadShared(ctx context.Context, key string, rs []storage.Range, want storage.Version, reload bool) ([][]byte, storage.ObjectInfo, error) {
	flags := uint32(wire.ReadKeep)
	if reload {
		flags |= wire.ReadReload
	}
	return s.readRanges(ctx, key, rs, want, flags)
}

// readRanges asks until the host has had room enough: twice at most, where
// the object does not grow meanwhile.
func (s store) readRanges(ctx context.Context, key string, rs []storage.Range, want storage.Version, flags uint32) ([][]byte, storage.ObjectInfo, error) {
	none := storage.ObjectInfo{Size: -1}
	if err := storage.CheckKey(key); err != nil {
		return nil, none, err
	}
	for _, r := range rs {
		if err := storage.CheckRange(key, r); err != nil {
			return nil, none, err
		}
	}
	sure := s.engine.memory / 4
	if flags&wire.ReadKeep != 0 {
		sure = sureRoom
	}
	unsure := int64(firstRoom)
	for range 4 {
		out, info, need, err := s.attempt(ctx, key, rs, want, flags, sure, unsure)
		if need == 0 {
			return out, info, err
		}
		if need <= unsure || need > s.engine.memory/4 {
			return nil, none, tooLarge(key)
		}
		unsure = need
	}
	return nil, none, fault.New(fault.ErrIO, "store", key, "grows faster than it can be read")
}

// attempt offers room to each range: all of its length up to sure, and
// otherwise unsure. need is above zero where a range wants more.
func (s store) attempt(ctx context.Context, key string, rs []storage.Range, want storage.Version, flags uint32, sure, unsure int64) (out [][]byte, info storage.ObjectInfo, need int64, err error) {
	w, err := s.begin(key, want, flags)
	if err != nil {
		return nil, info, 0, err
	}
	defer s.engine.tokens.put(w)
	var sum int64
	for _, r := range rs {
		n := r.Len
		if n < 0 || n > max(sure, unsure) {
			n = unsure
		}
		if sum += n; sum > s.engine.memory/4 {
			return nil, info, 0, tooLarge(key)
		}
		w.read.add(r.Off, r.Len, make([]byte, n))
	}
	info, err = s.exchange(ctx, w, key, want)
	if need = w.read.Info.Need; fault.CodeOf(err) == fault.CodeTooSmall {
		return nil, info, max(need, 1), nil
	}
	if err != nil {
		return nil, info, 0, err
	}
	out = make([][]byte, len(rs))
	for i, b := range w.read.Bufs {
		n := int(w.read.Ranges[i].N)
		if n < len(b)/2 {
			b = append([]byte(nil), b[:n]...) // let go of the room that was not needed
		}
		out[i] = b[:n:n]
	}
	return out, info, 0, nil
}

func (s store) begin(key string, want storage.Version, flags uint32) (*waiter, error) {
	w, err := s.engine.take()
	if err != nil {
		return nil, err
	}
	c := &w.read
	c.Store, c.Flags = s.id, flags
	c.Key = append(c.Key[:0], key...)
	c.Want = append(c.Want[:0], want...)
	return w, nil
}

// exchange makes the call and checks the answer.
func (s store) exchange(ctx context.Context, w *waiter, key string, want storage.Version) (storage.ObjectInfo, error) {
	c := &w.read
	info := storage.ObjectInfo{Size: -1}
	n, err := s.engine.settle(ctx, w, s.engine.host.ReadRanges(w.token, c))
	switch {
	case err != nil:
		return info, storage.Ended(ctx, key)
	case fault.Code(n) == fault.CodeTooSmall:
		return info, fault.ErrTooSmall
	case n < 0:
		return info, s.engine.failure(w, n, "store", key)
	case int(n) != len(c.Ranges):
		return info, invalid("store", key, "another number of ranges")
	}
	for i, r := range c.Ranges {
		if r.N < 0 || int(r.N) > len(c.Bufs[i]) {
			return info, invalid("store", key, "more bytes than there was room for")
		}
	}
	v, ok := c.Info.Version()
	if !ok {
		return info, invalid("store", key, "a version that is too long")
	}
	info.Size = c.Info.Size
	if string(v) == string(want) { // no allocation on the warm path
		info.Version = want
	} else {
		info.Version = storage.Version(v)
	}
	return info, nil
}

// List implements [storage.Lister].
func (s store) List(ctx context.Context, prefix string) ([]string, error) {
	room := int64(firstRoom)
	for range 4 {
		names, need, err := s.list(ctx, prefix, room)
		if need == 0 {
			return names, err
		}
		if need <= room || need > s.engine.memory/8 {
			return nil, tooLarge(prefix)
		}
		room = need
	}
	return nil, fault.New(fault.ErrIO, "store", prefix, "grows faster than it can be listed")
}

func (s store) list(ctx context.Context, prefix string, room int64) (names []string, need int64, err error) {
	w, err := s.engine.take()
	if err != nil {
		return nil, 0, err
	}
	defer s.engine.tokens.put(w)
	c := &ListCall{}
	w.rare = c
	c.Store, c.Prefix, c.Buf = s.id, []byte(prefix), make([]byte, room)
	n, err := s.engine.settle(ctx, w, s.engine.host.List(w.token, c))
	switch {
	case err != nil:
		return nil, 0, storage.Ended(ctx, prefix)
	case fault.Code(n) == fault.CodeTooSmall:
		return nil, max(c.Info.Need, 1), nil
	case n < 0:
		return nil, 0, s.engine.failure(w, n, "store", prefix)
	case int(n) > len(c.Buf):
		return nil, 0, invalid("store", prefix, "more bytes than there was room for")
	}
	names, err = unpackNames(c.Buf[:n], "store", prefix)
	return names, 0, err
}

func tooLarge(item string) error {
	return fault.New(fault.ErrLimit, "store", item, "larger than the memory allows")
}
