package blosc

// packedBlock is a block as it is written.
type packedBlock struct {
	bytes []byte
	zero  bool // nothing but zeros
}

// queue brings the blocks of a line into order. Who packed one before its turn
// leaves it there and goes on to the next, with memory of one that was written.
type queue struct {
	line   *line
	write  func(i int, b packedBlock) error // called for one after the other
	turn   int
	early  []packedBlock // by block, modulo its length: those behind turn
	spares [][]byte
}

// newQueue is a queue for so many workers of a line that begins.
func newQueue(l *line, workers int, write func(i int, b packedBlock) error) *queue {
	return &queue{line: l, write: write, turn: l.next, early: make([]packedBlock, 4*workers)}
}

// put writes block i, or leaves it to who puts the one before it. It waits if
// too many are left already. It takes the memory of b, and returns some for
// the next one.
func (q *queue) put(i int, b packedBlock) (spare []byte) {
	l := q.line
	l.mu.Lock()
	defer l.mu.Unlock()
	for i-q.turn >= len(q.early) && l.failed == nil {
		l.turn.Wait()
	}
	if l.failed != nil {
		return b.bytes
	}
	place := func(i int) *packedBlock { return &q.early[i%len(q.early)] }
	*place(i) = b
	for next := place(q.turn); next.bytes != nil && l.failed == nil; next = place(q.turn) {
		l.failed = q.write(q.turn, *next)
		q.spares = append(q.spares, next.bytes)
		*next = packedBlock{}
		q.turn++
	}
	l.turn.Broadcast()
	if n := len(q.spares); n > 0 {
		spare, q.spares = q.spares[n-1], q.spares[:n-1]
	}
	return spare
}
