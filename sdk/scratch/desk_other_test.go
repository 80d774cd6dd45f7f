//go:build !unix

package scratch

import (
	"testing"

	"github.com/gridhold/gridhold/sdk/storage"
)

func deskFS(testing.TB) (dir string, fs storage.FS) { return "", storage.NewMemoryFS(0) }
