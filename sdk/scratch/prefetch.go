package scratch

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/storage"
)

// Executor runs tasks. It is the caller's: its threads, its order.
type Executor interface {
	// Execute sees to it that task is called, and does not wait for that.
	Execute(task func())
}

// NewExecutor returns an executor that runs so many tasks at a time, in the
// order in which they come. It holds nothing while there are none.
func NewExecutor(workers int) Executor { return &executor{idle: max(workers, 1)} }

type executor struct {
	mu    sync.Mutex
	idle  int // workers that may still be started
	tasks []func()
}

// Execute is Executor's.
func (e *executor) Execute(task func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tasks = append(e.tasks, task)
	if e.idle > 0 {
		e.idle--
		e.start()
	}
}

// start starts a worker. One that a task ended by a panic is replaced.
func (e *executor) start() { fault.Go(e.work, func(error) { e.start() }) }

func (e *executor) work() {
	for {
		e.mu.Lock()
		if len(e.tasks) == 0 {
			e.idle++
			e.tasks = nil
			e.mu.Unlock()
			return
		}
		task := e.tasks[0]
		e.tasks = e.tasks[1:]
		e.mu.Unlock()
		task()
	}
}

// PrefetchScratch takes images into a scratch, one task of the executor for a
// file, and returns at once. Whole runs are taken in, in ascending order; a run
// that is there is not read again, one that another process is taking in is
// left to it. Images that are not held are passed over, and so are files that
// are not known or of which nothing is held: those are not opened.
//
// files opens the sources; nil: what the scratch was made with. A Provider of
// the scratch itself is ErrInvalid from Wait. One that wraps such a Provider is
// not seen through: what is not there it reads from the scratch's own sources.
//
// The prefetch ends when ctx ends, or with Cancel. A file that fails does not
// keep the others from being taken in; a full disk does.
func PrefetchScratch(ctx context.Context, s *ImageScratch, locations *image.ImageLocationGrouping, e Executor, files image.ReaderProvider) *Completion {
	ctx, cancel := context.WithCancel(ctx)
	c := &Completion{done: make(chan struct{}), cancel: cancel}
	if locations == nil || e == nil {
		return c.failed(fault.New(fault.ErrInvalid, "scratch", s.name, "no locations, or nothing that runs tasks"))
	}
	if err := s.retain(); err != nil {
		return c.failed(err)
	}
	if through, ok := files.(interface{ Scratch() *ImageScratch }); ok && through.Scratch() == s {
		s.release()
		return c.failed(fault.New(fault.ErrInvalid, "scratch", s.name, "it cannot be filled from itself"))
	}
	from := s.sources
	if files != nil {
		from = newSources(files, s.o, s.count)
	}
	var tasks []func()
	for i := range locations.Len() {
		g := locations.Group(i)
		runs := s.wanted(g)
		if len(runs) == 0 {
			continue
		}
		c.progress.Files++
		for _, r := range runs {
			c.progress.Runs++
			c.progress.Bytes += r.bytes
		}
		tasks = append(tasks, func() { c.run(func() error { return s.takeAll(ctx, from, runs, c) }) })
	}
	c.left.Store(int64(len(tasks)))
	c.finish = func() {
		err := s.release()
		if files != nil {
			err = errors.Join(err, from.close())
		}
		c.note(err)
		cancel()
		close(c.done)
	}
	if len(tasks) == 0 {
		c.finish()
	}
	for _, task := range tasks {
		e.Execute(task)
	}
	return c
}

// wanted returns the runs that hold images of a group and have room, in order.
func (s *ImageScratch) wanted(g image.LocationGroup) (runs []run) {
	k := s.layout.find(g.Key)
	if k == nil {
		return nil
	}
	add := func(pos int64) bool {
		r := k.runAt(pos)
		if r.end() > s.quota {
			return false
		}
		if n := len(runs); n == 0 || runs[n-1].n != r.n {
			runs = append(runs, r)
		}
		return true
	}
	if g.IsWhole {
		for pos := int64(0); pos < k.held && add(pos); pos += k.perRun {
		}
		return runs
	}
	for _, index := range g.Indices {
		if pos, ok := k.find(index); ok && !add(pos) {
			break
		}
	}
	return runs
}

// takeAll takes in runs of one file.
func (s *ImageScratch) takeAll(ctx context.Context, from *sources, runs []run, c *Completion) error {
	for _, r := range runs {
		if err := storage.Ended(ctx, r.key.name); err != nil {
			return err
		}
		if err := s.readRun(ctx, from, r, nil, 0); err != nil {
			return err
		}
		if s.space.pausing(from.now()) {
			return s.space.why()
		}
		c.runs.Add(1)
		c.bytes.Add(r.bytes)
	}
	return nil
}

// Completion is a prefetch that is under way. Safe for concurrent use.
type Completion struct {
	done   chan struct{}
	cancel context.CancelFunc
	finish func()
	left   atomic.Int64

	progress           Progress // the totals
	files, runs, bytes atomic.Int64

	mu  sync.Mutex
	err error
}

// Progress is how far a prefetch is, of how much. A run that was there counts
// as done when it is passed.
type Progress struct {
	FilesDone, Files int64
	RunsDone, Runs   int64
	BytesDone, Bytes int64
}

// Progress says how far it is.
func (c *Completion) Progress() Progress {
	p := c.progress
	p.FilesDone, p.RunsDone, p.BytesDone = c.files.Load(), c.runs.Load(), c.bytes.Load()
	return p
}

// Done is closed when all tasks have ended.
func (c *Completion) Done() <-chan struct{} { return c.done }

// Cancel makes the tasks end soon. It does not wait for that.
func (c *Completion) Cancel() { c.cancel() }

// Wait waits until all tasks have ended, and returns the first failure:
// ErrNoSpace where the disk was full, ErrCancelled after Cancel, whatever
// reading a file gave. It returns the error of ctx when that ends before.
func (c *Completion) Wait(ctx context.Context) error {
	select {
	case <-c.done:
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.err
	case <-ctx.Done():
		return storage.Ended(ctx, "prefetch")
	}
}

// run is one task. A panic of a provider ends the task and not the program.
func (c *Completion) run(do func() error) {
	defer func() {
		if p := recover(); p != nil {
			c.note(fault.Recovered(p))
		}
		c.files.Add(1)
		if c.left.Add(-1) == 0 {
			c.finish()
		}
	}()
	c.note(do())
}

func (c *Completion) note(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
	}
}

func (c *Completion) failed(err error) *Completion {
	c.note(err)
	c.cancel()
	close(c.done)
	return c
}
