package engine

import (
	"flag"
	"os"
	"testing"
)

// TestMain gives the tests one processor, as the guest has, whatever -cpu
// says: Run returns when nothing can run, and only with one processor does the
// count of what can run say so. With more, an operation still runs on another
// while Run returns.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.cpu", "1"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
