package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/gridhold/gridhold/sdk/zarr"
)

// progress shows how far a long command is: a bar that is drawn again and
// again on a terminal, and nothing elsewhere.
type progress struct {
	w     io.Writer // nil: shows nothing
	name  string
	began time.Time
	drawn time.Time
}

func newProgress(stderr io.Writer) *progress {
	f, ok := stderr.(*os.File)
	if !ok {
		return &progress{}
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return &progress{}
	}
	return &progress{w: stderr}
}

func (p *progress) begin(name string) { p.name, p.began, p.drawn = name, time.Now(), time.Time{} }

func (p *progress) step(c zarr.Copied) {
	if p.w == nil || c.Chunks < c.Total && time.Since(p.drawn) < 100*time.Millisecond {
		return
	}
	p.drawn = time.Now()
	fmt.Fprint(p.w, "\r", bar(p.name, c, time.Since(p.began)))
}

// end leaves the bar and goes on below it.
func (p *progress) end() {
	if p.w != nil && !p.drawn.IsZero() {
		fmt.Fprintln(p.w)
	}
}

// bar is one line: name, how far, how fast.
func bar(name string, c zarr.Copied, took time.Duration) string {
	const width = 30
	full := width
	if c.Total > 0 {
		full = int(c.Chunks * width / c.Total)
	}
	line := fmt.Sprintf("%s [%s%s] %d/%d ", oneLine(name), strings.Repeat("#", full), strings.Repeat(".", width-full), c.Chunks, c.Total)
	if c.Bytes == 0 {
		return line
	}
	return line + fmt.Sprintf(" %.1f MB/s ", float64(c.Bytes)/1e6/max(took.Seconds(), 1e-3))
}
