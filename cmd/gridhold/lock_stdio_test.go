package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
)

// A process that locks for another: locks of both kinds, waits that end, and
// all of them given back at its end.
func TestLockForAnother(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.b2lock")
	start := func() (say func(format string, args ...any), next func() lockAnswer, end func()) {
		cmd := prepare("lock", "--stdio")
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		lines := bufio.NewScanner(out)
		say = func(format string, args ...any) {
			_, err := fmt.Fprintf(in, format+"\n", args...)
			require.NoError(t, err)
		}
		next = func() (a lockAnswer) {
			require.True(t, lines.Scan(), "an answer")
			require.NoError(t, json.Unmarshal(lines.Bytes(), &a))
			return a
		}
		return say, next, func() {
			require.NoError(t, in.Close())
			require.NoError(t, cmd.Wait())
		}
	}
	sayA, nextA, endA := start()
	sayB, nextB, endB := start()
	sayA(`{"id": 1, "path": %q, "exclusive": true}`, path)
	require.Equal(t, lockAnswer{ID: 1}, nextA())
	sayA(`{"id": 2, "path": %q}`, path)
	sayB(`{"id": 1, "path": %q}`, path)
	sayB(`{"id": 2, "path": %q, "exclusive": true}`, path)
	sayB(`{"id": 2, "cancel": true}`)
	a := nextB()
	require.Equal(t, [2]any{int64(2), fault.CodeCancelled}, [2]any{a.ID, a.Code}, a.Text)
	sayA(`{"id": 1, "unlock": true}`)
	require.Equal(t, lockAnswer{ID: 2}, nextA())
	require.Equal(t, lockAnswer{ID: 1}, nextB())
	sayB(`{"id": 3, "path": %q, "exclusive": true}`, path)
	sayB(`{"id": 1, "unlock": true}`)
	endA()
	require.Equal(t, lockAnswer{ID: 3}, nextB())
	sayB(`{"id": 4, "path": "a"}`)
	require.Equal(t, fault.CodeInvalid, nextB().Code)
	endB()
	gridhold(t, "lock", "--stdio", path).fails(t, statusUsage)
}
