// Command sharing shows processes that work on one Blosc2 container at the same
// time, after the examples of python-blosc2:
//
//	go run ./examples/sharing mwmr-mode        writers and readers of one array, each slice at once
//	go run ./examples/sharing mwmr-enlarge     writers that append, each batch once
//	go run ./examples/sharing swmr-enlarge     one that appends, others that follow, without locks
//	go run ./examples/sharing locking-enlarge  the same with locks: a batch is there or not at all
//
// --bars shows live how far each process is. --peer makes one of them a process
// of python-blosc2; --with python or --with node, one of ours in that language.
// PYTHON names an interpreter that has what it needs.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/codec/blosc"
)

const (
	batches = 200 // of a writer
	batch   = 100 // rows
	width   = 10  // items of a row
)

// scenario is who takes part: the roles of the processes, and whether they
// lock.
type scenario struct {
	roles   []string
	locking bool
}

var scenarios = map[string]scenario{
	"mwmr-mode":       {[]string{"assign", "assign", "whole", "whole"}, true},
	"mwmr-enlarge":    {[]string{"append", "append", "append", "follow"}, true},
	"swmr-enlarge":    {[]string{"append", "follow", "follow", "follow"}, false},
	"locking-enlarge": {[]string{"append", "follow", "follow", "follow"}, true},
}

// job is what a process is told.
type job struct {
	Role    string `json:"role"`
	Path    string `json:"path"`
	Tag     int    `json:"tag"`
	Locking bool   `json:"locking"`
	Batches int    `json:"batches"`
	Batch   int64  `json:"batch"`
	Until   int64  `json:"until"` // rows there will be
}

// step is what it tells.
type step struct {
	Done  int64  `json:"done"` // rows written or read
	Rows  int64  `json:"rows"` // there are
	Error string `json:"error,omitempty"`
}

func main() {
	if role := os.Getenv("GRIDHOLD_SHARING_JOB"); role != "" {
		var j job
		if err := json.Unmarshal([]byte(role), &j); err != nil {
			fail(err)
		}
		work(context.Background(), j)
		return
	}
	bars := flag.Bool("bars", false, "show live how far each process is")
	peer := flag.Bool("peer", false, "one of the processes is of python-blosc2")
	with := flag.String("with", "", "one of the processes is of gridhold in `LANGUAGE`: python or node")
	which := "swmr-enlarge"
	args := os.Args[1:]
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		which, args = args[0], args[1:]
	}
	if err := flag.CommandLine.Parse(args); err != nil {
		fail(err)
	}
	s, ok := scenarios[which]
	if !ok {
		fail(fmt.Errorf("%s: want mwmr-mode, mwmr-enlarge, swmr-enlarge or locking-enlarge", which))
	}
	if *peer {
		*with = "peer"
	}
	if *with != "" && programs[*with] == nil {
		fail(fmt.Errorf("--with %s: want python or node", *with))
	}
	if err := run(context.Background(), s, *bars, *with); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "sharing:", err)
	os.Exit(1)
}

// run makes the array, starts the processes, and checks what is there in the
// end.
func run(ctx context.Context, s scenario, bars bool, with string) error {
	dir, err := os.MkdirTemp("", "gridhold-sharing-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fs, err := file.OpenFS(dir)
	if err != nil {
		return err
	}
	defer fs.Close()
	rows, writers := int64(0), int64(0)
	for _, role := range s.roles {
		if role == "append" {
			writers++
		}
	}
	if writers == 0 {
		rows = batches * batch / 10
	}
	a, err := blosc2.CreateArray(ctx, fs, "shared.b2nd",
		blosc2.Shape{Shape: []int64{rows, width}, Chunks: []int64{1000, width}, Blocks: []int64{100, width}, DType: "<i8"},
		blosc2.Spec{Params: blosc.Params{Codec: blosc.LZ4, Level: 5, Filters: []blosc.Filter{5: {ID: blosc.Shuffle}}}}, options(s.locking))
	if err != nil {
		return err
	}
	defer a.Close()
	j := job{Path: filepath.Join(dir, "shared.b2nd"), Locking: s.locking, Batches: batches, Batch: batch, Until: rows + writers*batches*batch}
	b := newBoard(s.roles, j, bars, with)
	var wait sync.WaitGroup
	failed := make([]error, len(s.roles))
	for i, role := range s.roles {
		j := j
		j.Role, j.Tag = role, i
		other := ""
		if i == 1 {
			other = with
		}
		wait.Go(func() { failed[i] = start(j, other, func(s step) { b.show(i, s) }) })
	}
	wait.Wait()
	for i, err := range failed {
		if err != nil {
			return fmt.Errorf("process %d (%s): %w", i, s.roles[i], err)
		}
	}
	if _, err := a.Refresh(ctx); err != nil {
		return err
	}
	if got := a.Shape().Shape[0]; got != j.Until {
		return fmt.Errorf("%d rows at the end, want %d", got, j.Until)
	}
	fmt.Printf("%d rows at the end, as there should be; change %d for who watched\n", j.Until, a.SChunk().ChangeTick())
	return nil
}

func options(locking bool) blosc2.Options {
	o := blosc2.Options{Write: true, Durability: blosc2.SyncNever}
	if locking {
		o.Locking = blosc2.Locked
	}
	return o
}

// programs are those of other languages, and what runs them.
var programs = map[string][]string{
	"peer":   {"python3", "examples/sharing/peer.py"},
	"python": {"python3", "examples/sharing/peer.py"},
	"node":   {"node", "examples/sharing/peer.mjs"},
}

// start runs a process, of this program or of another, and hands on what it
// tells.
func start(j job, other string, tell func(step)) error {
	text, err := json.Marshal(j)
	if err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(exe)
	if program := programs[other]; program != nil {
		name := program[0]
		if python := os.Getenv("PYTHON"); name == "python3" && python != "" {
			name = python
		}
		cmd = exec.Command(name, program[1:]...)
	}
	cmd.Env = append(os.Environ(), "GRIDHOLD_SHARING_JOB="+string(text), "GRIDHOLD_SHARING_WITH="+other)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	said := ""
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var s step
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			continue
		}
		if s.Error != "" {
			said = s.Error
		}
		tell(s)
	}
	if err := cmd.Wait(); err != nil || said != "" {
		return fmt.Errorf("%v %s", err, said)
	}
	return nil
}
