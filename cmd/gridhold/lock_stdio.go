package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"sync"

	"github.com/spf13/cobra"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// withStdio adds "lock --stdio" to the command lock: locks for a process that
// cannot take them itself, as one of Node.
func withStdio(c *cobra.Command) *cobra.Command {
	var stdio bool
	args, run := c.Args, c.RunE
	c.Args = func(c *cobra.Command, a []string) error {
		if stdio {
			return cobra.NoArgs(c, a)
		}
		return args(c, a)
	}
	c.RunE = func(c *cobra.Command, a []string) error {
		if stdio {
			return failed("standard input", lockFor(c.Context(), c.InOrStdin(), c.OutOrStdout()))
		}
		return run(c, a)
	}
	c.Flags().BoolVar(&stdio, "stdio", false, "lock files for the process that writes lines of JSON to standard input")
	return c
}

// lockWish is a line of input: a lock to take, with the number that it is
// called by from then on; or one to give back, or not to wait for any more.
type lockWish struct {
	ID        int64  `json:"id"`
	Path      string `json:"path"`
	Exclusive bool   `json:"exclusive"`
	Unlock    bool   `json:"unlock"`
	Cancel    bool   `json:"cancel"`
}

// lockAnswer is a line of output: the lock is held, or why not.
type lockAnswer struct {
	ID   int64      `json:"id"`
	Code fault.Code `json:"code,omitempty"`
	Text string     `json:"text,omitempty"`
}

// lockServer holds the locks of another process, until that ends.
type lockServer struct {
	ctx context.Context
	out *json.Encoder

	mu    sync.Mutex // also of out
	files map[string]storage.LockFile
	held  map[int64]storage.Locked
	waits map[int64]context.CancelFunc
	under []io.Closer
}

func lockFor(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	s := &lockServer{
		ctx: ctx, out: json.NewEncoder(out),
		files: map[string]storage.LockFile{}, held: map[int64]storage.Locked{}, waits: map[int64]context.CancelFunc{},
	}
	var waiting sync.WaitGroup
	defer s.close()
	defer waiting.Wait()
	defer stop()
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var w lockWish
		if err := json.Unmarshal(lines.Bytes(), &w); err != nil {
			return usagef("not a line of JSON as it is wanted: %s", err)
		}
		switch {
		case w.Cancel:
			s.cancel(w.ID)
		case w.Unlock:
			if err := s.unlock(w.ID); err != nil {
				return err
			}
		default:
			ctx, err := s.begin(w.ID)
			if err != nil {
				return err
			}
			waiting.Go(func() { s.lock(ctx, &w) })
		}
	}
	return lines.Err()
}

// begin notes a wait, which cancel ends. A number is one lock's until that is
// given back, or was not got.
func (s *lockServer) begin(id int64) (context.Context, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waits[id] != nil || s.held[id] != nil {
		return nil, usagef("there is a lock %d", id)
	}
	ctx, cancel := context.WithCancel(s.ctx)
	s.waits[id] = cancel
	return ctx, nil
}

func (s *lockServer) lock(ctx context.Context, w *lockWish) {
	mode := storage.LockShared
	if w.Exclusive {
		mode = storage.LockExclusive
	}
	f, err := s.file(ctx, w.Path)
	var held storage.Locked
	if err == nil {
		held, err = f.Lock(ctx, storage.LockRequest{Owner: storage.NewOwner(), Mode: mode})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waits[w.ID]()
	delete(s.waits, w.ID)
	a := lockAnswer{ID: w.ID}
	if err != nil {
		a.Code, a.Text = fault.CodeOf(err), err.Error()
	} else {
		s.held[w.ID] = held
	}
	_ = s.out.Encode(a) // whoever does not read it has ended, which ends the input too
}

// file opens the lock of a path, once.
func (s *lockServer) file(ctx context.Context, path string) (storage.LockFile, error) {
	if !filepath.IsAbs(path) {
		return nil, fault.New(fault.ErrInvalid, "lock", path, "not an absolute path")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.files[path]; f != nil {
		return f, nil
	}
	fs, err := file.OpenFS(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	s.under = append(s.under, fs)
	f, err := file.NewLocker(fs).KeepLock(ctx, filepath.Base(path))
	if err == nil {
		s.files[path] = f
	}
	return f, err
}

func (s *lockServer) cancel(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel := s.waits[id]; cancel != nil {
		cancel()
	}
}

func (s *lockServer) unlock(id int64) error {
	s.mu.Lock()
	held := s.held[id]
	delete(s.held, id)
	s.mu.Unlock()
	if held == nil {
		return usagef("there is no lock %d", id)
	}
	return held.Unlock()
}

// close gives everything back.
func (s *lockServer) close() error {
	var errs []error
	for _, held := range s.held {
		errs = append(errs, held.Unlock())
	}
	for _, f := range s.files {
		errs = append(errs, f.Close())
	}
	for _, c := range s.under {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}
