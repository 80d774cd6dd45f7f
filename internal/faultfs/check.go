package faultfs

import (
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridhold/gridhold/internal/proof"
)

// Check tries a property on random inputs (rapid.Check): the same fifty each
// time, so that what passes once does not fail another time; or, where the
// environment has GRIDHOLD_CHECKS, as many as that says, others each time. An
// input that fails is made as short as it goes and told, with the seed to try
// it again by.
func Check(t *testing.T, property func(t *rapid.T)) {
	t.Helper()
	settings := map[string]string{"rapid.nofailfile": "true", "rapid.checks": "50"}
	if runtime.GOOS == "wasip1" { // which takes ten times as long
		settings["rapid.checks"] = "10"
	}
	if n := os.Getenv("GRIDHOLD_CHECKS"); n != "" {
		settings["rapid.checks"] = n
	} else if flag.Lookup("rapid.seed").Value.String() == "0" {
		settings["rapid.seed"] = "1"
	}
	for name, value := range settings {
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	before := counts()
	rapid.Check(t, func(t *rapid.T) {
		tally.sequences.Add(1)
		property(t)
	})
	if dir := os.Getenv("GRIDHOLD_PROOF"); dir != "" && !t.Failed() {
		prove(t, dir, before)
	}
}

// tally counts what was tried in this process.
var tally struct{ sequences, operations, failures, killed, cuts atomic.Int64 }

func counts() map[string]int64 {
	return map[string]int64{
		"sequences": tally.sequences.Load(), "operations": tally.operations.Load(), "failures injected": tally.failures.Load(),
		"processes killed": tally.killed.Load(), "power cuts": tally.cuts.Load(), "wrong": 0,
	}
}

// proven are the counts so far of tests that have several parts.
var proven = map[string]map[string]int64{}

// prove writes what was counted since before into a file of the test's name.
func prove(t *testing.T, dir string, before map[string]int64) {
	what, _, _ := strings.Cut(strings.TrimPrefix(t.Name(), "TestModelOf"), "/")
	what = strings.ToLower(what)
	if proven[what] == nil {
		proven[what] = map[string]int64{}
	}
	for name, n := range counts() {
		proven[what][name] += n - before[name]
	}
	err := proof.Write(filepath.Join(dir, "model-"+what+".json"), proof.Record{
		What: "A model of " + what + ", with failures, kills and power cuts", When: time.Now().UTC().Truncate(time.Second),
		Command: "make models", Machine: proof.Machine(), Counts: proven[what], Found: []string{},
	})
	if err != nil {
		t.Error(err)
	}
}
