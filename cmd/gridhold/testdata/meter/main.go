// Command meter runs a command and writes what it took to a file.
//
//	meter FILE COMMAND ARGUMENTS...
//
// The tests start the command through it because Linux counts, as the most
// memory that a process had, what its parent had when it was started: a test
// under the race detector has a lot, and this program very little.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
)

func main() {
	c := exec.Command(os.Args[2], os.Args[3:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := c.Run()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		fmt.Fprintln(os.Stderr, "meter:", err)
		os.Exit(126)
	}
	s := c.ProcessState
	text, _ := json.Marshal(map[string]int64{"cpu": int64(s.UserTime() + s.SystemTime()), "peak": peak(s)})
	if err := os.WriteFile(os.Args[1], text, 0o666); err != nil {
		fmt.Fprintln(os.Stderr, "meter:", err)
		os.Exit(126)
	}
	os.Exit(s.ExitCode())
}
