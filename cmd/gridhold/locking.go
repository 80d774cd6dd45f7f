package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/spf13/cobra"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/storage"
)

// locking is what the environment asks for, as python-blosc2 reads it.
func locking() blosc2.Locking { return blosc2.LockingOf(os.Getenv("BLOSC_LOCKING")) }

// onThisMachine is the path of a URL that leads to the file system.
func onThisMachine(name string) (path string, ok bool) {
	if scheme, _ := schemeOf(name); scheme != "" && scheme != "file" {
		return "", false
	}
	path, err := localPath(name)
	return path, err == nil
}

// openLocal opens a container of the file system by itself, without a key.
func openLocal(ctx context.Context, name string, o blosc2.Options) (*container, error) {
	path, ok := onThisMachine(name)
	if !ok {
		return nil, usagef("%s: only containers of this machine are locked or watched", withoutSecrets(name))
	}
	dir, base, err := whereIs(path)
	if err != nil {
		return nil, err
	}
	fs, err := file.OpenFS(dir)
	if err != nil {
		return nil, err
	}
	c, err := blosc2.Open(ctx, fs, base, o)
	if err != nil {
		return nil, errors.Join(err, fs.Close())
	}
	return &container{Container: c, under: []io.Closer{fs}}, nil
}

func newLock() *cobra.Command {
	var shared, network bool
	var timeout time.Duration
	c := &cobra.Command{
		Use:   "lock URL -- COMMAND…",
		Short: "Hold a container's lock while a command runs",
		Long: `Hold the lock of a Blosc2 container while a command runs, against all who lock it: this program, Gridhold's
libraries and python-blosc2. A command that locks the container itself waits for ever; one that does not lock may
read and write it.

Exit status: that of the command, or 1 if the lock could not be had.`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			if c.ArgsLenAtDash() != 1 {
				return usagef("the command comes after --")
			}
			ctx := c.Context()
			k, err := openLocal(ctx, args[0], blosc2.Options{Locking: blosc2.Locked, LockTimeout: timeout, LockNetwork: network})
			if err != nil {
				return failed(args[0], err)
			}
			mode := storage.LockExclusive
			if shared {
				mode = storage.LockShared
			}
			_, end, err := blosc2.Hold(ctx, k.Container, mode)
			if err != nil {
				return failed(args[0], errors.Join(err, k.Close()))
			}
			err = runCommand(ctx, c, args[1:])
			return errors.Join(err, failed(args[0], errors.Join(end(), k.Close())))
		},
	}
	c.Flags().BoolVar(&shared, "shared", false, "let others read meanwhile")
	c.Flags().BoolVar(&network, "network", false, "lock on a network file system too")
	c.Flags().DurationVar(&timeout, "timeout", 0, "how long to wait for the lock; 0: as long as it takes")
	return c
}

// runCommand runs a command with our standard files. Its exit status becomes
// ours.
func runCommand(ctx context.Context, c *cobra.Command, args []string) error {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.InOrStdin(), c.OutOrStdout(), c.ErrOrStderr()
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		return &failure{path: args[0], status: exit.ExitCode(), err: fmt.Errorf("exit status %d", exit.ExitCode())}
	}
	return failed(args[0], err)
}

// lockLine is what verify tells of a lock.
type lockLine struct {
	Name    string `json:"name"`
	Held    string `json:"held"`
	Counter uint64 `json:"exclusive_locks"`
}

func lineOf(s *blosc2.LockState) *lockLine {
	if s == nil {
		return nil
	}
	return &lockLine{s.Name, s.Held, s.Counter}
}

func (l *lockLine) String() string {
	return fmt.Sprintf("lock %s: %s, %d exclusive locks so far", oneLine(l.Name), l.Held, l.Counter)
}

// lockState is the lock of what a URL names; nil where that has none.
func lockState(ctx context.Context, name string) (*blosc2.LockState, error) {
	path, ok := onThisMachine(name)
	if !ok {
		return nil, nil
	}
	info, err := os.Stat(path)
	if err != nil || !isContainer(path, info.IsDir()) {
		return nil, nil
	}
	dir, base, err := whereIs(path)
	if err != nil {
		return nil, err
	}
	fs, err := file.OpenFS(dir)
	if err != nil {
		return nil, err
	}
	defer fs.Close()
	s, ok, err := blosc2.LockStateOf(ctx, fs, base, blosc2.Options{})
	if !ok || err != nil {
		return nil, err
	}
	return &s, nil
}
