package main

import (
	"encoding/binary"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/blosc2"
)

// sharedArray makes an array of rows of 10 numbers, whose handle locks.
func sharedArray(t *testing.T, rows int) (path string, a *blosc2.NDArray) {
	t.Helper()
	dir := t.TempDir()
	fs, err := file.OpenFS(dir)
	require.NoError(t, err)
	t.Cleanup(func() { fs.Close() })
	shape := blosc2.Shape{Shape: []int64{0, 10}, Chunks: []int64{100, 10}, Blocks: []int64{100, 10}, DType: "<i8"}
	a, err = blosc2.CreateArray(t.Context(), fs, "a.b2nd", shape, blosc2.Spec{}, blosc2.Options{Locking: blosc2.Locked})
	require.NoError(t, err)
	t.Cleanup(func() { a.Close() })
	addRows(t, a, rows)
	return filepath.Join(dir, "a.b2nd"), a
}

func addRows(t *testing.T, a *blosc2.NDArray, rows int) {
	var b []byte
	for i := range rows * 10 {
		b = binary.LittleEndian.AppendUint64(b, uint64(i))
	}
	if err := a.Append(t.Context(), 0, b); err != nil {
		t.Error(err)
	}
}

// The command runs while the lock is held, and its exit status is ours.
func TestLockCommand(t *testing.T) {
	path, _ := sharedArray(t, 5)
	out := gridhold(t, "verify", path).succeeds(t)
	require.Contains(t, string(out), "lock a.b2nd.b2lock: free, 2 exclusive locks so far\n")
	out = gridhold(t, "verify", "--json", "--repair", path).succeeds(t)
	var told struct{ Lock lockLine }
	require.NoError(t, json.Unmarshal(out, &told))
	require.Equal(t, lockLine{"a.b2nd.b2lock", "free", 3}, told.Lock)
	for flag, state := range map[string]string{"--shared=false": "exclusive", "--shared": "shared"} {
		r := gridhold(t, append([]string{"lock", flag, path, "--"}, prepare("verify", path).Args...)...)
		require.Contains(t, string(r.succeeds(t)), ": "+state+", ")
	}
	gridhold(t, "lock", path, "--", "sh", "-c", "exit 7").fails(t, 7)
	gridhold(t, "lock", path).fails(t, statusUsage)
	gridhold(t, "lock", path, "true").fails(t, statusUsage)
	gridhold(t, "lock", "https://example.org/a.b2nd", "--", "true").fails(t, statusUsage)
	inner := prepare("lock", "--timeout", "20ms", path, "--", "true").Args
	r := gridhold(t, append([]string{"lock", path, "--"}, inner...)...)
	require.Equal(t, statusFailed, r.status)
	require.Contains(t, r.stderr, "not obtained in time")
}

// Each handle reads what is new until all is settled.
func TestWatchCommand(t *testing.T) {
	path, a := sharedArray(t, 5)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 20 {
			addRows(t, a, 5)
		}
	}()
	out := gridhold(t, "watch", path, "--handles", "3", "--until", "105", "--json").succeeds(t)
	<-done
	last := map[int]seen{}
	for line := range strings.Lines(string(out)) {
		var s seen
		require.NoError(t, json.Unmarshal([]byte(line), &s))
		if before, ok := last[s.Handle]; ok {
			// A writer in the middle of its commit may be seen twice.
			require.Greater(t, s.Tick, before.Tick)
			require.GreaterOrEqual(t, s.Rows, before.Rows)
		}
		last[s.Handle] = s
	}
	require.Len(t, last, 3)
	for _, s := range last {
		require.EqualValues(t, 105, s.Rows)
		require.EqualValues(t, 105*10*8, s.Bytes)
	}
	out = gridhold(t, "watch", path, "--until", "1").succeeds(t)
	require.Regexp(t, `^handle 0: 105 rows settled in 2 chunks, change \d+, \d+\.\d MB/s\n$`, string(out))
	gridhold(t, "watch", path, "--handles", "0").fails(t, statusUsage)
	require.Empty(t, string(gridhold(t, "watch", filepath.Join(containers, "no such"), "--for", "1ms").stdout))
}
