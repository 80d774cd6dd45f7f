package blosc

import (
	"sync"

	"github.com/gridhold/gridhold/sdk/fault"
)

// worthWorkers is the least bytes for which it pays to start goroutines.
const worthWorkers = 128 << 10

// line hands out the numbers from next to last, one each, until one fails.
type line struct {
	mu     sync.Mutex
	turn   *sync.Cond // of a queue
	next   int
	last   int
	failed error
}

func newLine(first, last int) *line {
	l := &line{next: first, last: last}
	l.turn = sync.NewCond(&l.mu)
	return l
}

// take returns the next number; ok is false when there are none.
func (l *line) take() (i int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed != nil || l.next > l.last {
		return 0, false
	}
	l.next++
	return l.next - 1, true
}

// fail ends the line, with the error of the first that did.
func (l *line) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed == nil {
		l.failed = err
	}
	l.turn.Broadcast()
}

// work calls do with a scratch for each number, from several goroutines, this
// one among them, and returns what the line failed with.
func (l *line) work(workers int, own *scratch, do func(i int, s *scratch) error) error {
	var wait sync.WaitGroup
	base := own.base
	each := func(s *scratch) {
		for i, ok := l.take(); ok; i, ok = l.take() {
			if err := do(i, s); err != nil {
				l.fail(err)
			}
		}
	}
	for range min(workers, l.last-l.next+1) - 1 {
		wait.Add(1)
		fault.Go(func() {
			s := scratches.Get().(*scratch)
			s.base = append(s.base[:0], base...)
			each(s)
			s.release()
			wait.Done()
		}, func(err error) {
			l.fail(err)
			wait.Done()
		})
	}
	each(own)
	wait.Wait()
	return l.failed
}

// together decodes what blocks first to last have of bytes from.. of the chunk
// into want, several at once.
func (c *Chunk) together(want []byte, from, first, last int, s *scratch) error {
	if c.delta() { // which all others refer to
		begin, end := c.Block(0)
		whole := sized(&s.whole, end-begin)
		if err := c.block(whole, 0, s); err != nil {
			return blockError(0, err)
		}
		s.base = append(s.base[:0], whole...)
	}
	return newLine(first, last).work(c.o.Workers, s, func(i int, s *scratch) error {
		return c.share(want, from, i, s)
	})
}
