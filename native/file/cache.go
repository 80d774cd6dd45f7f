package file

// handleCache keeps at most max files open, by key. Who is not used between
// two passes of the hand goes first: a least-recently-used order that a read
// keeps up without an exclusive lock. get needs the Store's lock shared, the
// other methods need it exclusive.
type handleCache struct {
	max   int
	byKey map[string]*handle
	ring  []*handle
	hand  int
}

func newHandleCache(max int) handleCache {
	return handleCache{max: max, byKey: map[string]*handle{}}
}

func (c *handleCache) len() int { return len(c.ring) }

// get returns the handle of a key with one more holder, or nil.
func (c *handleCache) get(key string) *handle {
	h := c.byKey[key]
	if h != nil {
		h.refs.Add(1)
		if !h.used.Load() {
			h.used.Store(true)
		}
	}
	return h
}

// put adds a handle; the cache is one more holder.
func (c *handleCache) put(h *handle) {
	c.shrink(c.max - 1)
	h.refs.Add(1)
	h.slot = len(c.ring)
	c.ring = append(c.ring, h)
	c.byKey[h.key] = h
}

// drop removes a handle if the cache has it.
func (c *handleCache) drop(h *handle) {
	if c.byKey[h.key] != h {
		return
	}
	delete(c.byKey, h.key)
	last := len(c.ring) - 1
	c.ring[h.slot] = c.ring[last]
	c.ring[h.slot].slot = h.slot
	c.ring[last] = nil
	c.ring = c.ring[:last]
	h.release()
}

// shrink drops handles until there are n.
func (c *handleCache) shrink(n int) {
	for len(c.ring) > n {
		c.hand++
		if c.hand >= len(c.ring) {
			c.hand = 0
		}
		if h := c.ring[c.hand]; !h.used.Swap(false) {
			c.drop(h)
		}
	}
}
