package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/internal/golden"
)

// The tests run the command as users have it: built without the race
// detector, a process of its own.
var (
	program  string // the command
	meter    string // runs it and says what it took
	fixtures string // testdata/zarr
	shared   string // for what all tests share: the compile cache
)

var engines = []string{"native", "wasm"}

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if fixtures, err = golden.Zarr(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		if shared, err = os.MkdirTemp("", "gridhold-test-"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(shared)
		program, meter = filepath.Join(shared, "gridhold.exe"), filepath.Join(shared, "meter.exe")
		for name, source := range map[string]string{program: ".", meter: "./testdata/meter"} {
			if out, err := exec.Command("go", "build", "-o", name, source).CombinedOutput(); err != nil {
				fmt.Fprintf(os.Stderr, "%s%v\n", out, err)
				return 1
			}
		}
		return m.Run()
	}())
}

// result is how a run of the command ended.
type result struct {
	status int
	stdout []byte
	stderr string
	cost
}

// cost is what a run took.
type cost struct {
	CPU  time.Duration `json:"cpu"`
	Peak int64         `json:"peak"` // bytes resident; 0 where that is not known
}

// prepare returns the command, ready to start.
func prepare(args ...string) *exec.Cmd {
	return exec.Command(program, withCache(args)...)
}

func withCache(args []string) []string {
	return append([]string{"--compile-cache", filepath.Join(shared, "compiled")}, args...)
}

// gridhold runs the command to its end.
func gridhold(t *testing.T, args ...string) result {
	t.Helper()
	var stdout bytes.Buffer
	r := gridholdTo(t, &stdout, args...)
	r.stdout = stdout.Bytes()
	return r
}

// gridholdTo does so too, and writes what it prints to stdout.
func gridholdTo(t *testing.T, stdout io.Writer, args ...string) (r result) {
	t.Helper()
	took := filepath.Join(t.TempDir(), "took.json")
	c := exec.Command(meter, append([]string{took, program}, withCache(args)...)...)
	var stderr strings.Builder
	c.Stdout, c.Stderr = stdout, &stderr
	err := c.Run()
	if exit := new(exec.ExitError); !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	r.status, r.stderr = c.ProcessState.ExitCode(), stderr.String()
	text, err := os.ReadFile(took)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &r.cost))
	return r
}

// fails checks that a run failed with that status and one clear line.
func (r result) fails(t *testing.T, status int) {
	t.Helper()
	require.Equal(t, status, r.status, "status; stderr: %s", r.stderr)
	require.Regexp(t, `^gridhold: [^\n]+\n$`, r.stderr)
	require.NotContains(t, r.stderr, "goroutine")
}

func (r result) succeeds(t *testing.T) []byte {
	t.Helper()
	require.Equal(t, 0, r.status, "status; stderr: %s", r.stderr)
	require.Empty(t, r.stderr)
	return r.stdout
}

func TestPanicIsOneLine(t *testing.T) {
	var stderr bytes.Buffer
	require.Equal(t, statusFailed, guard(&stderr, func() error { panic("a\nb") }))
	require.Equal(t, `gridhold: gridhold: panic: a\nb: internal fault`+"\n", stderr.String())
}

func TestUsage(t *testing.T) {
	array := filepath.Join(fixtures, "index_end_crc_zarr-python")
	for _, args := range [][]string{
		{"frobnicate"},
		{"info"},
		{"info", array, array},
		{"info", array, "--no-such-flag"},
		{"info", array, "--engine", "steam"},
		{"read", array, "--region", "1:x"},
		{"read", array, "--region", "-1:2"},
		{"read", array, "--subchunk", "1,,2"},
		{"read", array, "--subchunk", "1,2", "--chunk", "1"},
		{"read", array, "--encoded"},
		{"read", array, "--encoded", "--npy", "--subchunk", "0"},
	} {
		t.Run(strings.Join(args[1:], " "), func(t *testing.T) {
			gridhold(t, args...).fails(t, statusUsage)
		})
	}
	require.Contains(t, string(gridhold(t).succeeds(t)), "Usage:")
	require.Contains(t, string(gridhold(t, "read", "--help").succeeds(t)), "--subchunk")
}

func TestFailures(t *testing.T) {
	array := filepath.Join(fixtures, "index_end_crc_zarr-python")
	group := filepath.Join(fixtures, "group_plain")
	for _, args := range [][]string{
		{"info", filepath.Join(fixtures, "no such array")},
		{"info", group, "--path", "nobody"},
		{"info", group, "--path", "../index_end_crc_zarr-python"},
		{"info", "gopher://x/y"},
		{"read", group},
		{"read", array, "--subchunk", "5,0"},
		{"read", array, "--subchunk", "0" + ",0,0"},
		{"read", array, "--subchunk", "20"},
		{"read", array, "--chunk", "3,0"},
		{"read", array, "--region", "0:11,0:7"},
		{"read", array, "--region", "5:4,0:7"},
		{"read", array, "--region", "0:1"},
		{"read", array, "-o", filepath.Join(fixtures, "no such directory", "x")},
	} {
		for _, engine := range engines {
			t.Run(engine+" "+strings.Join(args, " "), func(t *testing.T) {
				r := gridhold(t, append(args, "--engine", engine)...)
				r.fails(t, statusFailed)
				require.Empty(t, r.stdout)
			})
		}
	}
}

func TestDamageIsNotAUsersWord(t *testing.T) {
	var stderr bytes.Buffer
	require.Equal(t, statusFailed, report(&stderr, failed("a\nb", context.Canceled)))
	require.Equal(t, "gridhold: a b: interrupted\n", stderr.String())
}

func TestNoSecretsInErrors(t *testing.T) {
	r := gridhold(t, "info", "http://user:word@127.0.0.1:1/a@b?sig=secret")
	require.Equal(t, 1, r.status)
	require.Contains(t, r.stderr, "gridhold: http://127.0.0.1:1/a@b: ")
	for _, secret := range []string{"user", "word", "sig", "secret"} {
		require.NotContains(t, r.stderr, secret)
	}
	for name, want := range map[string]string{"a?b": "a?b", "http://h": "http://h", "http://u@h": "http://h", "http://": "http://", "file:///a@b": "file:///a@b"} {
		require.Equal(t, want, withoutSecrets(name))
	}
}
