package storagetest

import (
	"testing"
	"time"
)

// Within fails the test unless f is done within limit in one of five tries. A
// machine that does other things too may take its time for any of them; code
// that is slow is slow each time.
func Within(t *testing.T, limit time.Duration, f func()) {
	t.Helper()
	least := time.Duration(0)
	for try := range 5 {
		began := time.Now()
		f()
		if took := time.Since(began); try == 0 || took < least {
			least = took
		}
		if least < limit {
			return
		}
	}
	t.Fatalf("it takes %v, at least; the limit is %v", least, limit)
}
