package engine

import (
	"os"
	"runtime"
	"testing"
)

// TestMain gives the tests one processor, as the guest has: Run returns when
// nothing can run, and only with one processor does the count of what can run
// say so. With more, an operation still runs on another while Run returns.
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(1)
	os.Exit(m.Run())
}
