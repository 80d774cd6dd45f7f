package storage_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/storage/storagetest"
)

type remembering struct{ servers *storage.Servers }

func (r remembering) Servers() *storage.Servers { return r.servers }

// TestHTTPSuffixTriedOnce: readers that come together, by several stores over
// one Fetcher, send the form that fails once.
func TestHTTPSuffixTriedOnce(t *testing.T) {
	for name, q := range map[string]storagetest.Quirks{
		"refused": {RefuseSuffix: 416}, "ignored": {IgnoreSuffix: true}, "no head either": {RefuseSuffix: 501, RefuseHead: 405},
	} {
		t.Run(name, func(t *testing.T) {
			server := storagetest.NewOrigin(map[string][]byte{"k": data})
			server.Quirks = q
			learner := struct {
				storage.Fetcher
				storage.Learner
			}{server, remembering{new(storage.Servers)}}
			var wg sync.WaitGroup
			for range 16 {
				s := storage.NewHTTP(learner, storagetest.OriginURL, storage.HTTPOptions{})
				for range 4 {
					wg.Go(func() {
						bs, _, err := read(s, "k", "", storage.Suffix(7))
						if err != nil || string(bs[0]) != string(data[993:]) {
							t.Error(bs, err)
						}
					})
				}
			}
			wg.Wait()
			requests := strings.Join(server.Requests(), "\n")
			require.Equal(t, 1, strings.Count(requests, "bytes=-7"), requests)
			if q.RefuseHead != 0 {
				require.Equal(t, 1, strings.Count(requests, "HEAD"), requests)
			}
		})
	}
}

// TestHTTPSuffixTrialIsNotForEver: who waits for the first suffix range can
// leave, and a first one that teaches nothing leaves the others free.
func TestHTTPSuffixTrialIsNotForEver(t *testing.T) {
	server := storagetest.NewOrigin(map[string][]byte{"k": data})
	arrived, let := make(chan bool, 8), make(chan bool)
	s := storage.NewHTTP(fetchFunc(func(ctx context.Context, r storage.Request) (storage.Response, error) {
		arrived <- true
		if !<-let {
			return storage.Response{}, fault.New(fault.ErrIO, "http", "", "broken")
		}
		return server.Fetch(ctx, r)
	}), storagetest.OriginURL, storage.HTTPOptions{})
	failed := make(chan error, 2)
	ask := func(c context.Context) {
		_, _, err := s.ReadRanges(c, "k", []storage.Range{storage.Suffix(7)}, "")
		failed <- err
	}
	go ask(ctx)
	<-arrived
	c, cancel := context.WithCancel(ctx)
	go ask(c)
	cancel()
	require.ErrorIs(t, <-failed, fault.ErrCancelled)
	let <- false
	require.ErrorIs(t, <-failed, fault.ErrIO)
	for range 2 {
		go ask(ctx)
	}
	for range 2 { // both at once
		<-arrived
	}
	let <- true
	let <- true
	require.NoError(t, <-failed)
	require.NoError(t, <-failed)
}

// TestHTTPParallelIsOfTheStore: however many calls there are, so many
// requests are under way and no more; a call that waits for its turn can be
// cancelled.
func TestHTTPParallelIsOfTheStore(t *testing.T) {
	server := storagetest.NewOrigin(map[string][]byte{"k": data})
	arrived, let := make(chan bool, 8), make(chan bool)
	var now, most atomic.Int64
	var tally storage.Tally
	s := storage.NewHTTP(fetchFunc(func(ctx context.Context, r storage.Request) (storage.Response, error) {
		most.Store(max(most.Load(), now.Add(1)))
		defer now.Add(-1)
		arrived <- true
		<-let
		return server.Fetch(ctx, r)
	}), storagetest.OriginURL, storage.HTTPOptions{Parallel: 3, Gap: -1, Trace: tally.Note})
	failed := make(chan error, 8)
	for range 4 {
		go func() {
			_, _, err := read(s, "k", "", storage.Range{Off: 1, Len: 2}, storage.Range{Off: 100, Len: 2}, storage.Range{Off: 200, Len: 2})
			failed <- err
		}()
	}
	for range 3 {
		<-arrived
	}
	c, cancel := context.WithCancel(ctx)
	cancelled := make(chan error)
	go func() {
		_, _, err := s.ReadRanges(c, "k", []storage.Range{{Off: 1, Len: 2}}, "")
		cancelled <- err
	}()
	cancel()
	require.ErrorIs(t, <-cancelled, fault.ErrCancelled)
	for i := range 12 {
		let <- true
		if i < 9 {
			<-arrived
		}
	}
	for range 4 {
		require.NoError(t, <-failed)
	}
	require.EqualValues(t, 3, most.Load())
	require.EqualValues(t, 12, tally.Cost().Requests)
}
