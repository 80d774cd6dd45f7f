package storagetest

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// Store holds an adapter to what storage.Store says, and to BufferReader and
// Lister if it has them. open makes a store of the objects; it registers its
// own clean-up.
func Store(t *testing.T, open func(t *testing.T, objects map[string][]byte) storage.Store) {
	data := Pattern(1000, 1)
	objects := map[string][]byte{
		"a":         data,
		"dir/b":     Pattern(10, 2),
		"dir/sub/c": Pattern(20, 3),
		"empty":     {},
	}
	for i, name := range oddNames {
		objects["odd/"+name+"/x"] = Pattern(30, byte(10+i))
	}
	s := open(t, objects)

	t.Run("ranges", func(t *testing.T) { ranges(t, s, data) })
	t.Run("odd names", func(t *testing.T) {
		for key, want := range objects {
			bs, _, err := s.ReadRanges(context.Background(), key, []storage.Range{storage.All}, "")
			noError(t, err)
			equalBytes(t, bs[0], want)
		}
	})
	t.Run("refusals", func(t *testing.T) { refusals(t, s) })
	t.Run("versions", func(t *testing.T) { versions(t, s, data) })
	t.Run("buffers", func(t *testing.T) { buffers(t, s, data) })
	t.Run("at once", func(t *testing.T) { atOnce(t, s, objects) })
	if br, ok := s.(storage.BufferReader); ok {
		t.Run("read into", func(t *testing.T) { readInto(t, br, data) })
	}
	if l, ok := s.(storage.Lister); ok {
		t.Run("list", func(t *testing.T) { list(t, l) })
	}
}

// oddNames are names that are cut, escaped twice or confused by careless
// adapters. No two of them may be the same object.
var oddNames = []string{
	"a b", "a+b", "a#b", "a?b=c&d", "a%20b", "a%2Fb", "a%", "a;b", "a:b", "a'b\"c", "a~b_c-d.e", "..a", "a..", "...",
	"é", "e\u0301", "日本語", "🜚", string(bytes.Repeat([]byte("n"), 200)), "[a](b){c}|^`", "@$!*,=",
}

func ranges(t *testing.T, s storage.Store, data []byte) {
	size := int64(len(data))
	cases := []struct {
		name     string
		r        storage.Range
		from, to int64
	}{
		{"whole", storage.All, 0, size},
		{"first byte", storage.Range{Off: 0, Len: 1}, 0, 1},
		{"middle", storage.Range{Off: 123, Len: 456}, 123, 579},
		{"nothing", storage.Range{Off: 5, Len: 0}, 5, 5},
		{"nothing at all", storage.Range{Off: 0, Len: 0}, 0, 0},
		{"last byte", storage.Range{Off: size - 1, Len: 1}, size - 1, size},
		{"past the end", storage.Range{Off: size - 3, Len: 10}, size - 3, size},
		{"at the end", storage.Range{Off: size, Len: 10}, size, size},
		{"beyond the end", storage.Range{Off: size + 7, Len: 10}, size, size},
		{"far beyond the end", storage.Range{Off: math.MaxInt64 - 10, Len: 10}, size, size},
		{"very long", storage.Range{Off: 1, Len: math.MaxInt64 - 1}, 1, size},
		{"to the end", storage.Range{Off: 900, Len: -1}, 900, size},
		{"to the end, beyond it", storage.Range{Off: size + 1, Len: -1}, size, size},
		{"suffix", storage.Suffix(10), size - 10, size},
		{"suffix of nothing", storage.Suffix(0), size, size},
		{"suffix of all", storage.Suffix(size), 0, size},
		{"longer suffix", storage.Suffix(size + 1), 0, size},
		{"longest suffix", storage.Suffix(math.MaxInt64), 0, size},
	}
	all := make([]storage.Range, len(cases))
	for i, tc := range cases {
		all[i] = tc.r
		t.Run(tc.name, func(t *testing.T) {
			bs, info, err := s.ReadRanges(context.Background(), "a", []storage.Range{tc.r}, "")
			noError(t, err)
			equalBytes(t, bs[0], data[tc.from:tc.to])
			if info.Size != -1 && info.Size != size {
				t.Fatalf("size %d, want %d or -1", info.Size, size)
			}
		})
	}
	t.Run("all in one call", func(t *testing.T) {
		bs, _, err := s.ReadRanges(context.Background(), "a", all, "")
		noError(t, err)
		if len(bs) != len(all) {
			t.Fatalf("%d answers to %d ranges", len(bs), len(all))
		}
		for i, tc := range cases {
			equalBytes(t, bs[i], data[tc.from:tc.to])
		}
	})
	t.Run("of an empty object", func(t *testing.T) {
		bs, _, err := s.ReadRanges(context.Background(), "empty", []storage.Range{storage.All, storage.Suffix(4), {Off: 3, Len: 2}}, "")
		noError(t, err)
		for _, b := range bs {
			equalBytes(t, b, nil)
		}
	})
	t.Run("none", func(t *testing.T) {
		bs, _, err := s.ReadRanges(context.Background(), "a", nil, "")
		noError(t, err)
		if len(bs) != 0 {
			t.Fatalf("%d answers to no ranges", len(bs))
		}
		_, _, err = s.ReadRanges(context.Background(), "absent", nil, "")
		isError(t, err, fault.ErrNotFound)
	})
}

func refusals(t *testing.T, s storage.Store) {
	for _, key := range []string{"absent", "dir/absent", "absent/absent", "dir/b/c"} {
		_, _, err := s.ReadRanges(context.Background(), key, []storage.Range{storage.All}, "")
		isError(t, err, fault.ErrNotFound)
	}
	for _, key := range []string{"", "/a", "a/", "dir//b", ".", "..", "../a", "dir/../a", "./a", "dir/.", "a\x00", "a\\b", "a\xff"} {
		_, _, err := s.ReadRanges(context.Background(), key, []storage.Range{storage.All}, "")
		isError(t, err, fault.ErrInvalid)
	}
	for _, r := range []storage.Range{{Off: -1, Len: -1}, {Off: 1, Len: math.MaxInt64}} {
		_, _, err := s.ReadRanges(context.Background(), "a", []storage.Range{r}, "")
		isError(t, err, fault.ErrInvalid)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, _, err := s.ReadRanges(ctx, "a", []storage.Range{storage.All}, "")
	isError(t, err, fault.ErrCancelled)
	isError(t, err, context.Canceled)
}

func versions(t *testing.T, s storage.Store, data []byte) {
	ctx := context.Background()
	_, info, err := s.ReadRanges(ctx, "a", []storage.Range{storage.Suffix(10)}, "")
	noError(t, err)
	if info.Version == "" {
		t.Skip("the store knows no versions")
	}
	bs, again, err := s.ReadRanges(ctx, "a", []storage.Range{{Off: 1, Len: 5}}, info.Version)
	noError(t, err)
	equalBytes(t, bs[0], data[1:6])
	if again.Version != info.Version {
		t.Fatalf("version %q, then %q", info.Version, again.Version)
	}
	for _, r := range []storage.Range{{Off: 1, Len: 5}, storage.Suffix(3), storage.All} {
		_, _, err = s.ReadRanges(ctx, "a", []storage.Range{r}, info.Version+"x")
		isError(t, err, fault.ErrStale)
	}
	_, _, err = s.ReadRanges(ctx, "absent", []storage.Range{storage.All}, info.Version)
	isError(t, err, fault.ErrNotFound)
}

func buffers(t *testing.T, s storage.Store, data []byte) {
	rs := []storage.Range{{Off: 10, Len: 50}, {Off: 10, Len: 50}, {Off: 30, Len: 50}}
	bs, _, err := s.ReadRanges(context.Background(), "a", rs, "")
	noError(t, err)
	clear(bs[0])
	equalBytes(t, bs[1], data[10:60])
	_ = append(bs[1], 1, 2, 3)
	equalBytes(t, bs[2], data[30:80])
	bs, _, err = s.ReadRanges(context.Background(), "a", rs, "")
	noError(t, err)
	equalBytes(t, bs[0], data[10:60])
}

func atOnce(t *testing.T, s storage.Store, objects map[string][]byte) {
	keys := make([]string, 0, len(objects))
	for key := range objects {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	var wg sync.WaitGroup
	failed := make(chan error, 16)
	for g := range cap(failed) {
		wg.Go(func() {
			for i := range keys {
				key := keys[(i+g)%len(keys)]
				n := len(objects[key])
				bs, _, err := s.ReadRanges(context.Background(), key, []storage.Range{storage.Suffix(5), {Off: 2, Len: 4}}, "")
				if err == nil && !(bytes.Equal(bs[0], objects[key][max(n-5, 0):]) && bytes.Equal(bs[1], objects[key][min(n, 2):min(n, 6)])) {
					err = fmt.Errorf("%q: wrong bytes", key)
				}
				if err != nil {
					failed <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(failed)
	for err := range failed {
		t.Error(err)
	}
}

func readInto(t *testing.T, br storage.BufferReader, data []byte) {
	ctx := context.Background()
	for _, tc := range []struct{ off, n, want int }{{0, 1000, 1000}, {100, 50, 50}, {990, 50, 10}, {1000, 5, 0}, {5000, 5, 0}, {7, 0, 0}} {
		dst := bytes.Repeat([]byte{0xee}, tc.n)
		n, info, err := br.ReadInto(ctx, "a", int64(tc.off), dst, "")
		noError(t, err)
		if n != tc.want {
			t.Fatalf("%d bytes at %d, want %d", n, tc.off, tc.want)
		}
		equalBytes(t, dst[:n], data[min(tc.off, 1000):min(tc.off, 1000)+n])
		if info.Version != "" {
			_, _, err = br.ReadInto(ctx, "a", int64(tc.off), dst, info.Version)
			noError(t, err)
			_, _, err = br.ReadInto(ctx, "a", int64(tc.off), dst, info.Version+"x")
			isError(t, err, fault.ErrStale)
		}
	}
	dst := make([]byte, 4)
	_, _, err := br.ReadInto(ctx, "absent", 0, dst, "")
	isError(t, err, fault.ErrNotFound)
	_, _, err = br.ReadInto(ctx, "../a", 0, dst, "")
	isError(t, err, fault.ErrInvalid)
	_, _, err = br.ReadInto(ctx, "a", -1, dst, "")
	isError(t, err, fault.ErrInvalid)
	_, _, err = br.ReadInto(ctx, "a", math.MaxInt64-1, dst, "")
	isError(t, err, fault.ErrInvalid)
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	_, _, err = br.ReadInto(ctx, "a", 0, dst, "")
	isError(t, err, fault.ErrCancelled)
}

func list(t *testing.T, l storage.Lister) {
	ctx := context.Background()
	odd := make([]string, len(oddNames))
	for i, name := range oddNames {
		odd[i] = name + "/"
	}
	slices.Sort(odd)
	for _, tc := range []struct {
		prefix string
		want   []string
	}{
		{"", []string{"a", "dir/", "empty", "odd/"}},
		{"dir/", []string{"b", "sub/"}},
		{"dir/sub/", []string{"c"}},
		{"odd/", odd},
		{"absent/", nil},
		{"a/", nil},
	} {
		names, err := l.List(ctx, tc.prefix)
		noError(t, err)
		if !slices.Equal(names, tc.want) {
			t.Fatalf("names under %q: %q, want %q", tc.prefix, names, tc.want)
		}
	}
	for _, prefix := range []string{"dir", "/", "../", "dir/../"} {
		_, err := l.List(ctx, prefix)
		isError(t, err, fault.ErrInvalid)
	}
}
