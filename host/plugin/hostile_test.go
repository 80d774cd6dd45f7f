package plugin_test

import (
	"context"
	"errors"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/host/plugin"
	"github.com/gridhold/gridhold/sdk/codec"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// deadline is that of the hostile plugins, and soon how late they may be:
// much more than is seen, for machines that do other things too.
const (
	deadline = 100 * time.Millisecond
	soon     = 3 * time.Second
	memory   = 32 << 20
	slack    = 16 << 20
)

// bounded fails the test if f, less the time that the process waited for a
// processor, is not back in time, or took more memory than it may.
func bounded(t *testing.T, f func() error) error {
	t.Helper()
	runtime.GC()
	before, spent := resident(), processorTime()
	began := time.Now()
	err := f()
	took := time.Since(began)
	require.True(t, took < soon+deadline || processorTime()-spent < soon, "back after %v", took)
	if before > 0 {
		require.Less(t, resident()-before, int64(memory+slack), "bytes")
	}
	return err
}

func decode(p *plugin.Plugin, name, src string, limit int) (string, error) {
	return decodeIn(context.Background(), p, name, src, limit)
}

func decodeIn(ctx context.Context, p *plugin.Plugin, name, src string, limit int) (string, error) {
	b, err := p.BytesCodec(name, nil)
	if err != nil {
		return "", err
	}
	out, err := b.Decode(ctx, nil, []byte(src), limit)
	return string(out), err
}

// ending is decode with a deadline.
func ending(p *plugin.Plugin, name, src string) error {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	_, err := decodeIn(ctx, p, name, src, 64)
	return err
}

var errAnswer = errors.New("an answer")

// Whatever a codec does, it is back soon, within its memory, and the next
// call is right.
func TestHostileCodecs(t *testing.T) {
	for _, interruption := range []plugin.Interruption{plugin.Counter, plugin.Runtime} {
		t.Run(interruption.String(), func(t *testing.T) {
			p := opened(t, "hostile/codecs", plugin.Options{Memory: memory, Interruption: interruption, Instances: 2})
			for _, tc := range []struct {
				name string
				want error // errAnswer: none, the answer is the plugin's to give
			}{
				{"endless", context.DeadlineExceeded},
				{"recursion", fault.ErrLimit},
				{"around", fault.ErrLimit},
				{"wide", fault.ErrLimit},
				{"bomb", errAnswer},
				{"tables", fault.ErrInternal}, // says that it filled more than there is room for
				{"fill", context.DeadlineExceeded},
				{"long", fault.ErrInternal},
				{"longest", fault.ErrInternal},
				{"absent", fault.ErrInternal},
				{"unknown", fault.ErrInternal},
				{"trap", fault.ErrInternal},
				{"changing", errAnswer},
				{"talking", context.DeadlineExceeded},
				{"reading", fault.ErrInternal},
				{"short", errAnswer},
				{"hoarding", errAnswer},
				{"copy", errAnswer},
				{"reentry", errAnswer},
			} {
				if interruption == plugin.Runtime && errors.Is(tc.want, fault.ErrLimit) {
					continue // wazero lets functions nest as deep as 100 MB: only the counter bounds that
				}
				t.Run(tc.name, func(t *testing.T) {
					began, had := time.Now(), resident()
					err := bounded(t, func() error {
						if tc.want == context.DeadlineExceeded {
							return ending(p, tc.name, "abcdefgh")
						}
						_, err := decode(p, tc.name, "abcdefgh", 64) // ends by itself
						return err
					})
					t.Logf("%v, %d KiB more: %v", time.Since(began), (resident()-had)>>10, err)
					if tc.want == errAnswer {
						require.NoError(t, err)
					} else {
						require.ErrorIs(t, err, tc.want)
					}
					require.NotErrorIs(t, err, fault.ErrNotFound)
					for range 3 {
						got, err := decode(p, "right", "abcdefgh", 8)
						require.NoError(t, err)
						require.Equal(t, "abcdefgh", got)
					}
				})
			}
		})
	}
}

// A codec that lies about lengths is damage to what it decodes, not more.
func TestHostileCodecsUnderZarr(t *testing.T) {
	p := opened(t, "hostile/codecs", plugin.Options{Memory: memory})
	ctx := context.Background()
	for _, name := range []string{"short", "long", "changing", "absent", "trap", "right"} {
		st := storage.NewMemory()
		st.Set("zarr.json", []byte(`{"zarr_format":3,"node_type":"array","shape":[8],"data_type":"uint8","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[8]}},
			"chunk_key_encoding":{"name":"default"},"fill_value":9,"codecs":[{"name":"bytes"},{"name":"`+name+`"}]}`))
		st.Set("c/0", []byte("abcdefgh"))
		a, err := zarr.OpenArray(ctx, st, "", zarr.Options{Codecs: p})
		require.NoError(t, err)
		got, err := a.RetrieveRegion(ctx, []int64{0}, []int64{8}, zarr.ReadOptions{})
		if name == "right" {
			require.NoError(t, err)
			require.Equal(t, "abcdefgh", string(got))
			continue
		}
		require.Error(t, err, name)
	}
}

// What a call returned does not change when the instance runs again.
func TestAnswersAreCopies(t *testing.T) {
	p := opened(t, "hostile/codecs", plugin.Options{Memory: memory, Instances: 1})
	b, err := p.BytesCodec("right", nil)
	require.NoError(t, err)
	first, err := b.Decode(context.Background(), nil, []byte("first of all"), 12)
	require.NoError(t, err)
	_, err = decode(p, "hoarding", "something else", 64)
	require.NoError(t, err)
	_ = append(first, "and on"...)
	_, err = decode(p, "copy", "", 4096)
	require.NoError(t, err)
	require.Equal(t, "first of all", string(first))
}

// Memory that a plugin takes for each call and never gives back ends at its
// cap, and with it that instance's usefulness, not the next one's.
func TestHoarding(t *testing.T) {
	p := opened(t, "hostile/codecs", plugin.Options{Memory: 4 << 20, Instances: 1})
	for range 20 {
		_, err := decode(p, "hoarding", "x", 8)
		require.NoError(t, err)
	}
	_, err := decode(p, "right", strings.Repeat("x", 5<<20), 8)
	require.ErrorIs(t, err, fault.ErrLimit)
	got, err := decode(p, "right", "abc", 8)
	require.NoError(t, err)
	require.Equal(t, "abc", got)
}

func TestHostileReader(t *testing.T) {
	ctx := context.Background()
	p := opened(t, "hostile/reader", plugin.Options{Memory: memory, Read: 1 << 20})
	st := storage.NewMemory()
	for c := range strings.SplitSeq("reawnmhzolbvktfgc", "") {
		st.Set(c+".bad", []byte("1234"))
	}
	st.Set("m.bad", make([]byte, 1<<17))
	st.Set("secret", []byte("1234"))
	for _, tc := range []struct {
		key  string
		open error
		read error
	}{
		{"e", context.DeadlineExceeded, nil},
		{"m", fault.ErrLimit, nil},
		{"w", fault.ErrInvalid, nil},
		{"n", fault.ErrInvalid, nil},
		{"h", nil, errAnswer}, // of 2^64 bytes
		{"z", fault.ErrCorrupt, nil},
		{"o", fault.ErrInternal, nil},
		{"l", fault.ErrLimit, nil},
		{"a", fault.ErrInternal, nil},
		{"b", nil, fault.ErrCorrupt},
		{"v", nil, fault.ErrCorrupt},
		{"k", nil, fault.ErrNotAllowed},
		{"t", nil, fault.ErrCorrupt},
		{"f", nil, fault.ErrCorrupt},
		{"c", nil, fault.ErrCorrupt},
		{"g", nil, nil}, // a chunk of fill values
		{"r", nil, nil},
	} {
		t.Run(tc.key, func(t *testing.T) {
			var view *plugin.Array
			err := bounded(t, func() (err error) {
				ctx := ctx
				if tc.open == context.DeadlineExceeded {
					var cancel func()
					ctx, cancel = context.WithTimeout(ctx, deadline)
					defer cancel()
				}
				view, err = p.Array(ctx, st, tc.key+".bad")
				return err
			})
			switch {
			case tc.read == errAnswer:
				require.Error(t, err)
			case tc.open != nil:
				require.ErrorIs(t, err, tc.open)
			default:
				require.NoError(t, err)
				a, err := zarr.OpenArray(ctx, view, "", zarr.Options{})
				require.NoError(t, err)
				got, err := a.RetrieveRegion(ctx, []int64{0}, []int64{4}, zarr.ReadOptions{})
				switch {
				case tc.read != nil:
					require.ErrorIs(t, err, tc.read)
				case tc.key == "g":
					require.NoError(t, err)
					require.Equal(t, make([]byte, 4), got)
				default:
					require.NoError(t, err)
					require.Equal(t, "1234", string(got))
				}
			}
			right, err := p.Array(ctx, st, "r.bad")
			require.NoError(t, err)
			bs, _, err := right.ReadRanges(ctx, "c/0", []storage.Range{storage.All, storage.Suffix(3), {Off: 1, Len: 2}, {Off: 9, Len: 1}}, "")
			require.NoError(t, err)
			require.Equal(t, "1234 234 23 ", string(bs[0])+" "+string(bs[1])+" "+string(bs[2])+" "+string(bs[3]))
		})
	}
	_, err := p.Array(ctx, st, "nothing.bad")
	require.ErrorIs(t, err, fault.ErrNotFound)
}

// A reader whose store asks the same plugin waits for an instance that never
// comes free, but not for ever.
func TestReaderWithinItself(t *testing.T) {
	ctx := context.Background()
	p := opened(t, "npy", plugin.Options{Instances: 1})
	st := storage.NewMemory()
	st.Set("a.npy", npy(2000))
	err := bounded(t, func() error {
		ctx, cancel := context.WithTimeout(ctx, deadline)
		defer cancel()
		_, err := p.Array(ctx, &within{plugin: p, store: st}, "a.npy")
		return err
	})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, err = p.Array(ctx, st, "a.npy")
	require.NoError(t, err)
}

// within is a store that opens an array by a plugin before each read but the
// first, whose answer it cuts so that there is a second one.
type within struct {
	plugin *plugin.Plugin
	store  storage.Store
	asked  bool
}

func (w *within) ReadRanges(ctx context.Context, key string, rs []storage.Range, want storage.Version) ([][]byte, storage.ObjectInfo, error) {
	bs, info, err := w.store.ReadRanges(ctx, key, rs, want)
	if !w.asked && err == nil {
		w.asked = true
		return [][]byte{bs[0][:8]}, info, nil
	}
	if _, err := w.plugin.Array(ctx, w.store, key); err != nil {
		return nil, info, err
	}
	return bs, info, err
}

func TestRefused(t *testing.T) {
	ctx := context.Background()
	for _, tc := range []struct {
		name string
		o    plugin.Options
		want error
	}{
		{"hostile/start", plugin.Options{Deadline: deadline}, context.DeadlineExceeded},
		{"hostile/start", plugin.Options{Deadline: deadline, Interruption: plugin.Runtime}, context.DeadlineExceeded},
		{"hostile/exit", plugin.Options{}, fault.ErrNotAllowed}, // without the grant
		{"hostile/wild", plugin.Options{}, fault.ErrInternal},
		{"hostile/about", plugin.Options{}, fault.ErrInternal},
		{"hostile/tables", plugin.Options{}, fault.ErrLimit},
		{"hostile/codecs", plugin.Options{Memory: 1 << 15}, fault.ErrInvalid},
		{"hostile/codecs", plugin.Options{Module: 1000}, fault.ErrLimit},
		{"hostile/codecs", plugin.Options{Tables: 1}, fault.ErrLimit},
		{"hostile/codecs", plugin.Options{Work: 1}, fault.ErrLimit},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := bounded(t, func() error { _, err := plugin.Open(ctx, module(t, tc.name), tc.o); return err })
			require.ErrorIs(t, err, tc.want)
		})
	}
	// A function with 2^32 - 1 locals, in 42 bytes: wazero would make room for them.
	locals := []byte("\x00asm\x01\x00\x00\x00\x01\x04\x01\x60\x00\x00\x03\x02\x01\x00\x0a\x0b\x01\x09\x01\xff\xff\xff\xff\x0f\x7f\x0b\x0b")
	err := bounded(t, func() error { _, err := plugin.Open(ctx, locals, plugin.Options{}); return err })
	require.ErrorIs(t, err, fault.ErrLimit)
	for name, b := range map[string][]byte{"nothing": nil, "text": []byte("hello"), "cut": module(t, "aec")[:4000]} {
		_, err := plugin.Open(ctx, b, plugin.Options{})
		require.ErrorIs(t, err, fault.ErrCorrupt, name)
	}
}

// Modules that lack what the contract has, by one byte of a name each.
func TestContract(t *testing.T) {
	ctx := context.Background()
	good := string(module(t, "hostile/codecs"))
	for _, tc := range []struct {
		old, with string
		want      error
	}{
		{"gp_abi", "gp_abj", fault.ErrUnsupported},
		{"gp_alloc", "gp_alloz", fault.ErrUnsupported},
		{"gp_decode", "gp_decodf", fault.ErrUnsupported},
		{"gp_reset", "gp_chunk", fault.ErrUnsupported},
		{"gridhold_plugin\x03log", "gridhold_plugin\x03lag", fault.ErrNotAllowed},
		{"gridhold_plugin\x03log", "gridhold_plugim\x03log", fault.ErrNotAllowed},
		{"memory", "memorz", fault.ErrUnsupported},
		{`"name":"hostile"`, `"nama":"hostile"`, fault.ErrCorrupt},
		{`"name":"hostile"`, `"name":"hostil` + "\x01" + `"`, fault.ErrCorrupt},
		{`"right"`, `"bytes"`, fault.ErrExists},
		{`"right"`, `"trap"` + " ", fault.ErrCorrupt}, // twice
		{"\x41\x80\x80\x04", "\x41\x80\x80\x08", fault.ErrUnsupported},
	} {
		require.Contains(t, good, tc.old)
		_, err := plugin.Open(ctx, []byte(strings.Replace(good, tc.old, tc.with, 1)), plugin.Options{})
		require.ErrorIs(t, err, tc.want, "%q", tc.with)
	}
}

func TestExit(t *testing.T) {
	p := opened(t, "hostile/exit", plugin.Options{Grants: plugin.Grants{WASI: true}})
	for _, status := range []byte{0, 3} {
		_, err := decode(p, "hostile", string([]byte{status}), 8)
		require.ErrorIs(t, err, fault.ErrInternal)
		require.ErrorContains(t, err, "exited with "+strconv.Itoa(int(status)))
	}
	// One that sleeps.
	err := bounded(t, func() error { return ending(p, "hostile", "\xff") })
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// Where the pass cannot be, wazero interrupts, and the plugin says so.
func TestFallback(t *testing.T) {
	p := opened(t, "hostile/odd", plugin.Options{})
	how, why := p.Interruption()
	require.Equal(t, plugin.Runtime, how)
	require.ErrorIs(t, why, fault.ErrUnsupported)
	_, err := decode(p, "hostile", "\x00", 8)
	require.NoError(t, err)
	err = bounded(t, func() error { return ending(p, "hostile", "\x01") })
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, err = decode(p, "hostile", "\x00", 8)
	require.NoError(t, err)
}

func TestOwnDeadline(t *testing.T) {
	p := opened(t, "hostile/codecs", plugin.Options{Deadline: deadline, Instances: 1})
	err := bounded(t, func() error { _, err := decode(p, "endless", "", 8); return err })
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, err, fault.ErrInternal)
	require.NotErrorIs(t, err, fault.ErrCancelled) // nobody did
	require.ErrorContains(t, err, "took longer than 100ms")
}

func TestContextEndsACall(t *testing.T) {
	p := opened(t, "hostile/codecs", plugin.Options{Instances: 1})
	b, err := p.BytesCodec("endless", nil)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	err = bounded(t, func() error { _, err := b.Decode(ctx, nil, nil, 8); return err })
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, err, fault.ErrCancelled)
	_, err = b.Decode(ctx, nil, nil, 8) // already past
	require.ErrorIs(t, err, fault.ErrCancelled)
	got, err := decode(p, "right", "abc", 8)
	require.NoError(t, err)
	require.Equal(t, "abc", got)
}

func TestConcurrentUse(t *testing.T) {
	p := opened(t, "hostile/codecs", plugin.Options{Instances: 3})
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for k := range 50 {
				src := strconv.Itoa(i*1000 + k)
				if k%10 == 9 {
					if _, err := decode(p, "trap", src, 64); err == nil {
						t.Error("a trap is no error")
					}
				}
				if got, err := decode(p, "right", src, 64); err != nil || got != src {
					t.Error(got, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestClose(t *testing.T) {
	p, err := plugin.Open(context.Background(), module(t, "tiff"), plugin.Options{})
	require.NoError(t, err)
	var b codec.Bytes
	b, err = p.BytesCodec("imagecodecs_lzw", nil)
	require.NoError(t, err)
	require.NoError(t, p.Close())
	require.NoError(t, p.Close())
	_, err = b.Decode(context.Background(), nil, nil, 8)
	require.ErrorIs(t, err, fault.ErrClosed)
}

// Instances that die leave nothing behind.
func TestMemoryStaysFlat(t *testing.T) {
	p := opened(t, "hostile/codecs", plugin.Options{Instances: 2})
	run := func(n int) {
		for i := range n {
			if i%20 == 0 {
				_, err := decode(p, "trap", "", 8)
				require.ErrorIs(t, err, fault.ErrInternal)
			}
			got, err := decode(p, "right", "abc", 8)
			require.NoError(t, err)
			require.Equal(t, "abc", got)
		}
		runtime.GC()
	}
	run(1000)
	had := resident()
	run(9000)
	require.Less(t, resident()-had, int64(8<<20), "bytes more after 9000 calls than after 1000")
}

// Plugins come and go, many at once.
func TestOpenCallClose(t *testing.T) {
	wasm := module(t, "hostile/codecs")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for k := range 5 {
				p, err := plugin.Open(context.Background(), wasm, plugin.Options{Memory: 1 << 20, Interruption: plugin.Interruption((i + k) % 2)})
				if err != nil {
					t.Error(err)
					return
				}
				if got, err := decode(p, "right", "abc", 8); err != nil || got != "abc" {
					t.Error(got, err)
				}
				if err := p.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// Go's collector stops what runs, and cannot stop wasm. It gets its turn when
// the plugin asks for more.
func TestCollectorGetsItsTurn(t *testing.T) {
	p := opened(t, "hostile/codecs", plugin.Options{Instances: 1})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() { _, err := decodeIn(ctx, p, "endless", "", 8); ended <- err }()
	for range 10 {
		runtime.GC()
	}
	select {
	case err := <-ended:
		t.Fatal("the plugin ended before the collector did: ", err)
	default:
	}
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
}
