package interop

import (
	"errors"
	"fmt"
	"sync"
)

// Each writer of a store under torture has a course: operations on keys of its
// own, and on one that all share, whose n-th is the same each time. So what may
// be read is known from how many of them are done.

const (
	slots  = 4 // keys that a course goes around
	absent = int64(-1)
	failed = int64(-2)
	mixed  = int64(-3) // items of two values, or too few

	sharedKey = "/a"
)

// course is that of the writer tag.
type course struct {
	kind string // of the store
	tag  int
}

// step is one operation: Size items of one value are put, or the key removed
// if that is -1.
type step struct {
	Key   string `json:"key"`
	Size  int    `json:"size"`
	Value int64  `json:"value"`
}

// shares: one of the slots is the key of all. In an embed store, which
// replaces nothing, each has its own.
func (c course) shares() bool { return c.kind != "embed" }

func (c course) key(slot int) string {
	if c.shares() && slot == slots-1 {
		return sharedKey
	}
	return fmt.Sprintf("/t%d/k%d", c.tag, slot)
}

func (c course) step(n int) step {
	s := step{Key: c.key(n % slots), Value: int64(c.tag)*1000000 + int64(n)}
	s.Size = itemsOf(s.Value)
	turn := n / slots
	switch {
	case s.Key == sharedKey:
	case c.kind == "embed" && turn%2 == 1, c.kind != "embed" && turn%4 == 3:
		s.Size = -1
	}
	return s
}

// itemsOf is how many items a value has: some stores embed only the smaller.
func itemsOf(value int64) int { return []int{20, 100, 300}[value%3] }

// after is what lies in a slot after n operations.
func (c course) after(n, slot int) int64 {
	last := n - 1 - (n-1-slot+slots)%slots
	if n == 0 || last < 0 {
		return absent
	}
	s := c.step(last)
	if s.Size < 0 {
		return absent
	}
	return s.Value
}

// tracks are how far the courses are, as far as anybody knows: at least done
// operations, and in the end at most begun.
type tracks struct {
	kind string

	mu          sync.Mutex
	done, begun map[int]int
	alive       map[int]bool // those who are, and so ahead of what was heard
	ended       []int

	operations, reads, snapshots, stale, killed, bytes, theirsMixed, theirsFailed int64
}

func newTracks(kind string) *tracks {
	return &tracks{kind: kind, done: map[int]int{}, begun: map[int]int{}, alive: map[int]bool{}}
}

// enter gives a new writer its tag.
func (k *tracks) enter() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	tag := len(k.done)
	k.done[tag], k.alive[tag] = 0, true
	return tag
}

// begin says that the writer may do n operations in all.
func (k *tracks) begin(tag, n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.begun[tag] = n
}

// did says that it did n in all.
func (k *tracks) did(tag, n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.operations += int64(n - k.done[tag])
	k.done[tag] = max(k.done[tag], n)
	k.begun[tag] = max(k.begun[tag], n)
}

// ends says that it does no more, and that what it did not say to have done
// are at most slack operations.
func (k *tracks) ends(tag, slack int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.alive[tag] = false
	k.begun[tag] = max(k.begun[tag], k.done[tag]+slack)
	k.ended = append(k.ended, tag)
}

func (k *tracks) kill() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.killed++
}

// some are tags to look at: those who write, and some who ended.
func (k *tracks) some(pick func(n int) int) (tags []int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for tag := range k.done {
		if k.alive[tag] {
			tags = append(tags, tag)
		}
	}
	for range min(3, len(k.ended)) {
		tags = append(tags, k.ended[pick(len(k.ended))])
	}
	return tags
}

// saw judges what was read of a course at one moment: what lay in some of its
// slots. low is what bounds said before the read began; what was seen raises it
// for those who read later.
func (k *tracks) saw(tag, low int, found map[int]int64) error {
	c := course{k.kind, tag}
	highest := low
	for slot, v := range found {
		switch {
		case v == failed:
			return fmt.Errorf("wrong: %s cannot be read", c.key(slot))
		case v == mixed:
			return fmt.Errorf("torn: %s has items of two values", c.key(slot))
		case v >= 0 && int(v/1000000) != tag:
			return fmt.Errorf("wrong: %s has the value %d", c.key(slot), v)
		case v >= 0:
			highest = max(highest, int(v%1000000)+1)
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	fits := func(n int) bool {
		for slot, v := range found {
			if c.after(n, slot) != v {
				return false
			}
		}
		return true
	}
	last := highest + 4*slots // by when each slot has been empty
	if !k.alive[tag] {
		last = k.begun[tag]
	}
	for n := low; n <= last; n++ {
		if fits(n) {
			k.done[tag] = max(k.done[tag], n)
			k.begun[tag] = max(k.begun[tag], n)
			return nil
		}
	}
	for n := range low {
		if fits(n) {
			return fmt.Errorf("lost: %v of %d was so after %d operations, and it had done %d", found, tag, n, low)
		}
	}
	return fmt.Errorf("wrong: %v of %d, who had done %d and began at most %d, was never so", found, tag, low, last)
}

// survey judges what was read, of all at one moment or of one after the other,
// under the keys of the courses of some tags. lows are the bounds from before.
func (k *tracks) survey(tags []int, lows map[int]int, keys []string, found []int64, atOnce bool) error {
	if len(found) != len(keys) {
		return fmt.Errorf("wrong: %d answers of %d", len(found), len(keys))
	}
	by := map[int]map[int]int64{}
	see := func(tag, slot int, v int64) error {
		if !atOnce {
			return k.saw(tag, lows[tag], map[int]int64{slot: v})
		}
		if by[tag] == nil {
			by[tag] = map[int]int64{}
		}
		by[tag][slot] = v
		return nil
	}
	for i, key := range keys {
		tag, slot := -1, slots-1
		if key != sharedKey {
			if _, err := fmt.Sscanf(key, "/t%d/k%d", &tag, &slot); err != nil {
				return err
			}
		} else if v := found[i]; v == absent {
			return errors.New("lost: the key that all put is not there")
		} else if v < 0 {
			tag = 0
		} else {
			tag = int(v / 1000000)
		}
		if err := see(tag, slot, found[i]); err != nil {
			return err
		}
	}
	var all []error
	for tag, found := range by {
		all = append(all, k.saw(tag, lows[tag], found))
	}
	return errors.Join(all...)
}

// keysOf are all keys of some courses, the shared one last and once.
func (k *tracks) keysOf(tags []int) (keys []string) {
	for _, tag := range tags {
		for slot := range slots {
			if key := (course{k.kind, tag}).key(slot); key != sharedKey {
				keys = append(keys, key)
			}
		}
	}
	if (course{kind: k.kind}).shares() {
		keys = append(keys, sharedKey)
	}
	return keys
}

// bounds are how far the courses are at least, by what was heard until now.
func (k *tracks) bounds() map[int]int {
	k.mu.Lock()
	defer k.mu.Unlock()
	lows := map[int]int{}
	for tag, n := range k.done {
		lows[tag] = n
	}
	return lows
}
