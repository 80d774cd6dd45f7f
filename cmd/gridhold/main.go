// Command gridhold looks into big arrays: what they are, single blocks of
// them, whether they are whole.
//
// Exit status: 0 fine, 1 failed, 2 wrong usage, 3 found damage. An error is
// one line on standard error: gridhold: PATH: WHAT[ at OFFSET]: WHY.
package main

import (
	"context"
	"io"
	"log"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/gridhold/gridhold/sdk/fault"
)

func main() {
	debug.SetTraceback("none") // whatever happens, no stack trace on a user's screen
	log.SetOutput(io.Discard)  // net/http tells there what servers do wrong
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt ends the process at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the command without the process around it. It returns the exit
// status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return guard(stderr, func() error { return root.ExecuteContext(ctx) })
}

// guard reports what f returns, and a panic of f like any other failure.
func guard(stderr io.Writer, f func() error) (status int) {
	defer func() {
		if p := recover(); p != nil {
			status = report(stderr, failed("", fault.Recovered(p)))
		}
	}()
	return report(stderr, f())
}
