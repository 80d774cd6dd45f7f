package main

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// board shows how far the processes are: bars that are drawn again and again,
// or one line each in the end.
type board struct {
	mu    sync.Mutex
	names []string
	goal  []int64
	last  []step
	begun time.Time
	drawn time.Time
	live  bool
	lines int
}

func newBoard(roles []string, j job, live bool, with string) *board {
	b := &board{last: make([]step, len(roles)), begun: time.Now(), live: live}
	for i, role := range roles {
		who := "gridhold"
		if i == 1 && with != "" {
			who = map[string]string{"peer": "python-blosc2", "python": "gridhold for Python", "node": "gridhold for Node"}[with]
		}
		goal := int64(j.Batches) * j.Batch
		if role == "follow" {
			goal = j.Until
		}
		b.names, b.goal = append(b.names, role+", "+who), append(b.goal, goal)
	}
	return b
}

func (b *board) show(i int, s step) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last[i] = s
	whole := s.Done >= b.goal[i]
	switch {
	case b.live && (whole || time.Since(b.drawn) > 50*time.Millisecond):
		b.draw()
	case !b.live && whole:
		fmt.Println(b.line(i))
	}
}

func (b *board) draw() {
	b.drawn = time.Now()
	if b.lines > 0 {
		fmt.Printf("\x1b[%dA", b.lines)
	}
	b.lines = len(b.names)
	for i := range b.names {
		fmt.Printf("\r%s\x1b[K\n", b.line(i))
	}
}

func (b *board) line(i int) string {
	const width = 30
	full := int(min(b.last[i].Done*width/max(b.goal[i], 1), width))
	rate := float64(b.last[i].Done) / max(time.Since(b.begun).Seconds(), 1e-3)
	return fmt.Sprintf("%-22s [%s%s] %d of %d rows, %.0f a second", b.names[i], strings.Repeat("#", full), strings.Repeat(".", width-full), b.last[i].Done, b.goal[i], rate)
}
