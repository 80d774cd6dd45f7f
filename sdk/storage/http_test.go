package storage_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/storage/storagetest"
)

var (
	ctx  = context.Background()
	data = storagetest.Pattern(1000, 1)
)

func origin(q storagetest.Quirks, o storage.HTTPOptions) (*storagetest.Origin, *storage.HTTP) {
	server := storagetest.NewOrigin(map[string][]byte{"k": data, "empty": nil})
	server.Quirks = q
	return server, storage.NewHTTP(server, storagetest.OriginURL, o)
}

func read(s storage.Store, key string, want storage.Version, rs ...storage.Range) ([][]byte, storage.ObjectInfo, error) {
	return s.ReadRanges(ctx, key, rs, want)
}

// TestHTTPSuite runs the suite against every kind of server that can be read.
func TestHTTPSuite(t *testing.T) {
	type q = storagetest.Quirks
	for name, tc := range map[string]struct {
		quirks  q
		options storage.HTTPOptions
	}{
		"by the book":                 {},
		"browser":                     {options: storage.HTTPOptions{NoSuffix: true, NoConditions: true}},
		"ignores suffix":              {quirks: q{IgnoreSuffix: true}},
		"no total":                    {quirks: q{NoTotal: true}},
		"suffix 416":                  {quirks: q{RefuseSuffix: 416}},
		"suffix 501":                  {quirks: q{RefuseSuffix: 501}},
		"suffix 400, no head":         {quirks: q{RefuseSuffix: 400, RefuseHead: 403}},
		"suffix 501, no head length":  {quirks: q{RefuseSuffix: 501, HeadNoLength: true}},
		"ignores ranges":              {quirks: q{IgnoreRange: true}},
		"ignores ranges, no length":   {quirks: q{IgnoreRange: true, LengthlessBody: true}},
		"hides content-range":         {quirks: q{HideRange: true}},
		"hides it, browser":           {quirks: q{HideRange: true}, options: storage.HTTPOptions{NoSuffix: true, NoConditions: true}},
		"no tag":                      {quirks: q{NoTag: true}},
		"weak tag":                    {quirks: q{WeakTag: true}},
		"no versions":                 {quirks: q{NoTag: true, NoDate: true}},
		"ignores if-match":            {quirks: q{IgnoreIfMatch: true}},
		"no merging":                  {options: storage.HTTPOptions{Gap: -1, Parallel: 3}},
		"no head, 405":                {quirks: q{RefuseHead: 405}, options: storage.HTTPOptions{NoSuffix: true}},
		"forbidden is missing":        {quirks: q{RefuseHead: 403}, options: storage.HTTPOptions{NoSuffix: true, ForbiddenIsMissing: true}},
		"hides all but date and size": {quirks: q{HideRange: true, NoTag: true}, options: storage.HTTPOptions{NoSuffix: true}},
	} {
		t.Run(name, func(t *testing.T) {
			storagetest.Store(t, func(t *testing.T, objects map[string][]byte) storage.Store {
				server := storagetest.NewOrigin(objects)
				server.Quirks = tc.quirks
				return storage.NewHTTP(server, storagetest.OriginURL, tc.options)
			})
		})
	}
}

// The requests that are made are part of the promise: each costs a latency.
func TestHTTPRequests(t *testing.T) {
	type q = storagetest.Quirks
	type rs = []storage.Range
	for _, tc := range []struct {
		name    string
		quirks  q
		options storage.HTTPOptions
		calls   []rs
		want    []string
	}{
		{"explicit", q{}, storage.HTTPOptions{}, []rs{{{Off: 5, Len: 10}}}, []string{"GET k bytes=5-14"}},
		{"to the end", q{}, storage.HTTPOptions{}, []rs{{{Off: 5, Len: -1}}}, []string{"GET k bytes=5-"}},
		{"all", q{}, storage.HTTPOptions{}, []rs{{storage.All}}, []string{"GET k"}},
		{"none", q{}, storage.HTTPOptions{}, []rs{{}}, []string{"HEAD k"}},
		{"suffix", q{}, storage.HTTPOptions{}, []rs{{storage.Suffix(7)}, {storage.Suffix(9)}}, []string{"GET k bytes=-7", "GET k bytes=-9"}},
		{"suffix, browser", q{}, storage.HTTPOptions{NoSuffix: true}, []rs{{storage.Suffix(7)}}, []string{"HEAD k", "GET k bytes=993-999"}},
		{"suffix ignored, once", q{IgnoreSuffix: true}, storage.HTTPOptions{}, []rs{{storage.Suffix(7)}, {storage.Suffix(9)}},
			[]string{"GET k bytes=-7", "GET k bytes=993-999", "HEAD k", "GET k bytes=991-999"}},
		{"suffix refused, once", q{RefuseSuffix: 501}, storage.HTTPOptions{}, []rs{{storage.Suffix(7)}, {storage.Suffix(9)}},
			[]string{"GET k bytes=-7", "HEAD k", "GET k bytes=993-999", "HEAD k", "GET k bytes=991-999"}},
		{"head forbidden too, once", q{RefuseSuffix: 416, RefuseHead: 403}, storage.HTTPOptions{}, []rs{{storage.Suffix(7)}, {storage.Suffix(9)}},
			[]string{"GET k bytes=-7", "HEAD k", "GET k bytes=0-0", "GET k bytes=993-999", "GET k bytes=0-0", "GET k bytes=991-999"}},
		{"total not told", q{NoTotal: true}, storage.HTTPOptions{}, []rs{{storage.Suffix(7)}, {storage.Suffix(9)}},
			[]string{"GET k bytes=-7", "HEAD k", "GET k bytes=993-999", "HEAD k", "GET k bytes=991-999"}},
		{"longer suffix", q{}, storage.HTTPOptions{}, []rs{{storage.Suffix(2000)}}, []string{"GET k bytes=-2000"}},
		{"longer suffix of a server that refuses it", q{RefuseSuffix: 416}, storage.HTTPOptions{}, []rs{{storage.Suffix(2000)}},
			[]string{"GET k bytes=-2000", "HEAD k", "GET k bytes=0-999"}},
		{"ranges ignored", q{IgnoreRange: true}, storage.HTTPOptions{}, []rs{{{Off: 5, Len: 10}}, {{Off: 5, Len: 10}, {Off: 900, Len: 10}}},
			[]string{"GET k bytes=5-14", "GET k bytes=5-14", "GET k bytes=5-909"}},
		{"ranges ignored, one fetch for all", q{IgnoreRange: true}, storage.HTTPOptions{Gap: -1}, []rs{{{Off: 5, Len: 10}}, {{Off: 50, Len: 10}, {Off: 900, Len: 10}}},
			[]string{"GET k bytes=5-14", "GET k bytes=5-14", "GET k bytes=50-59"}},
		{"merged", q{}, storage.HTTPOptions{Gap: 50}, []rs{{{Off: 100, Len: 10}, {Off: 40, Len: 10}}}, []string{"GET k bytes=40-109"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server, s := origin(tc.quirks, tc.options)
			for _, rs := range tc.calls {
				bs, _, err := read(s, "k", "", rs...)
				require.NoError(t, err)
				for i, r := range rs {
					off, n := r.Resolve(1000)
					require.Equal(t, data[off:off+n], bs[i])
				}
			}
			require.Equal(t, tc.want, server.Requests())
		})
	}
}

func TestHTTPHeader(t *testing.T) {
	server, s := origin(storagetest.Quirks{}, storage.HTTPOptions{Header: []storage.Field{{Name: "Authorization", Value: "x"}}})
	_, info, err := read(s, "k", "", storage.Range{Off: 0, Len: 1})
	require.NoError(t, err)
	require.Equal(t, storage.ObjectInfo{Size: 1000, Version: info.Version}, info)
	_, _, err = read(s, "k", info.Version, storage.Range{Off: 0, Len: 1})
	require.NoError(t, err)
	require.Equal(t, []storage.Field{{Name: "Authorization", Value: "x"}, {Name: "Range", Value: "bytes=0-0"}, {Name: "If-Match", Value: string(info.Version)}}, server.Last().Header)
	require.EqualValues(t, 1, server.Last().Limit)
}

// TestHTTPStale: a replaced object is noticed by whatever the server tells.
func TestHTTPStale(t *testing.T) {
	type q = storagetest.Quirks
	for name, tc := range map[string]struct {
		quirks  q
		options storage.HTTPOptions
	}{
		"if-match":         {},
		"if-match ignored": {quirks: q{IgnoreIfMatch: true}},
		"no conditions":    {options: storage.HTTPOptions{NoConditions: true}},
		"date":             {quirks: q{NoTag: true}},
		"weak tag":         {quirks: q{WeakTag: true}},
		"hidden range":     {quirks: q{NoTag: true, HideRange: true}},
		"ignored range":    {quirks: q{NoTag: true, IgnoreRange: true}},
		"by size":          {options: storage.HTTPOptions{NoSuffix: true}},
	} {
		t.Run(name, func(t *testing.T) {
			server, s := origin(tc.quirks, tc.options)
			_, info, err := read(s, "k", "", storage.Suffix(10))
			require.NoError(t, err)
			server.Put("k", storagetest.Pattern(1000, 2))
			for _, r := range []storage.Range{{Off: 0, Len: 5}, storage.Suffix(5), storage.All} {
				_, _, err = read(s, "k", info.Version, r)
				require.ErrorIs(t, err, fault.ErrStale)
			}
			bs, again, err := read(s, "k", "", storage.Range{Off: 0, Len: 5})
			require.NoError(t, err)
			require.Equal(t, storagetest.Pattern(5, 2), bs[0])
			require.NotEqual(t, info.Version, again.Version)
		})
	}
}

// A server whose object changes between the answers to one call.
func TestHTTPMixed(t *testing.T) {
	server := storagetest.NewOrigin(map[string][]byte{"k": data})
	changing := fetchFunc(func(ctx context.Context, r storage.Request) (storage.Response, error) {
		res, err := server.Fetch(ctx, r)
		if n := len(server.Requests()); n < 3 {
			server.Put("k", storagetest.Pattern(1000, byte(n)+1))
		}
		return res, err
	})
	s := storage.NewHTTP(changing, storagetest.OriginURL, storage.HTTPOptions{Gap: -1, Parallel: 1})
	bs, _, err := read(s, "k", "", storage.Range{Off: 0, Len: 500}, storage.Range{Off: 500, Len: 500})
	require.NoError(t, err)
	require.Equal(t, storagetest.Pattern(1000, 3), append(bs[0], bs[1]...))
	require.Len(t, server.Requests(), 4)
}

type fetchFunc func(context.Context, storage.Request) (storage.Response, error)

func (f fetchFunc) Fetch(ctx context.Context, r storage.Request) (storage.Response, error) {
	return f(ctx, r)
}

func TestHTTPRefusals(t *testing.T) {
	type q = storagetest.Quirks
	one := storage.Range{Off: 5, Len: 10}
	for _, tc := range []struct {
		name    string
		quirks  q
		options storage.HTTPOptions
		r       storage.Range
		want    error
		text    string
	}{
		{"403", q{Status: 403}, storage.HTTPOptions{}, one, fault.ErrNotAllowed, "status 403"},
		{"403 as missing", q{Status: 403}, storage.HTTPOptions{ForbiddenIsMissing: true}, one, fault.ErrNotFound, ""},
		{"401 is never missing", q{Status: 401}, storage.HTTPOptions{ForbiddenIsMissing: true}, one, fault.ErrNotAllowed, ""},
		{"404", q{Status: 404}, storage.HTTPOptions{}, one, fault.ErrNotFound, ""},
		{"410", q{Status: 410}, storage.HTTPOptions{}, one, fault.ErrNotFound, ""},
		{"404 of a suffix", q{Status: 404}, storage.HTTPOptions{}, storage.Suffix(4), fault.ErrNotFound, ""},
		{"403 of a suffix", q{Status: 403}, storage.HTTPOptions{}, storage.Suffix(4), fault.ErrNotAllowed, ""},
		{"429", q{Status: 429}, storage.HTTPOptions{}, one, fault.ErrIO, "status 429"},
		{"500", q{Status: 500}, storage.HTTPOptions{}, one, fault.ErrIO, "status 500"},
		{"503", q{Status: 503}, storage.HTTPOptions{}, one, fault.ErrIO, "status 503"},
		{"302", q{Status: 302}, storage.HTTPOptions{}, one, fault.ErrIO, "status 302"},
		{"204", q{Status: 204}, storage.HTTPOptions{}, one, fault.ErrIO, "status 204"},
		{"line broken", q{BreakLine: true}, storage.HTTPOptions{}, one, fault.ErrIO, "connection reset"},
		{"cut", q{CutBy: 3}, storage.HTTPOptions{}, one, fault.ErrIO, "7 of 10 bytes"},
		{"cut suffix", q{CutBy: 3}, storage.HTTPOptions{}, storage.Suffix(10), fault.ErrIO, "7 of 10 bytes"},
		{"other range", q{ShiftRange: 1}, storage.HTTPOptions{}, one, fault.ErrIO, "asked for 5+10, got bytes 6-15/1000"},
		{"other suffix", q{ShiftRange: 1}, storage.HTTPOptions{}, storage.Suffix(10), fault.ErrIO, "got bytes 991-999/1000"},
		{"encoded range", q{Gzip: true}, storage.HTTPOptions{}, one, fault.ErrUnsupported, "encoded (gzip)"},
		{"encoded suffix", q{Gzip: true}, storage.HTTPOptions{}, storage.Suffix(10), fault.ErrUnsupported, "encoded (gzip)"},
		{"encoded whole", q{Gzip: true}, storage.HTTPOptions{}, storage.All, fault.ErrUnsupported, "encoded (gzip)"},
		{"said to be encoded", q{GzipName: true}, storage.HTTPOptions{}, one, fault.ErrUnsupported, "encoded (gzip)"},
		{"ranges ignored, too large", q{IgnoreRange: true}, storage.HTTPOptions{WholeLimit: 999}, one, fault.ErrUnsupported, "ignores ranges"},
		{"ranges ignored, too large for a suffix", q{IgnoreRange: true}, storage.HTTPOptions{WholeLimit: 999}, storage.Suffix(4), fault.ErrUnsupported, "ignores ranges"},
		{"object too large", q{}, storage.HTTPOptions{BodyLimit: 999}, storage.All, fault.ErrLimit, ""},
		{"range too large", q{}, storage.HTTPOptions{BodyLimit: 99}, storage.Range{Off: 0, Len: 500}, fault.ErrLimit, ""},
		{"no size to be had", q{RefuseSuffix: 501, RefuseHead: 405, HideRange: true}, storage.HTTPOptions{}, storage.Suffix(4), fault.ErrUnsupported, "tells no size"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, s := origin(tc.quirks, tc.options)
			for range 2 { // nothing wrong is remembered
				_, _, err := read(s, "k", "", tc.r)
				require.ErrorIs(t, err, tc.want)
				require.ErrorContains(t, err, tc.text)
				for _, other := range []error{fault.ErrNotFound, fault.ErrNotAllowed, fault.ErrIO} {
					if other != tc.want {
						require.NotErrorIs(t, err, other)
					}
				}
			}
		})
	}
}

// After a failure that passes, the same store reads on.
func TestHTTPNothingRemembered(t *testing.T) {
	for _, status := range []int{403, 404, 410, 429, 500, 503} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			server, s := origin(storagetest.Quirks{Status: status}, storage.HTTPOptions{})
			_, _, err := read(s, "k", "", storage.Suffix(4))
			require.Error(t, err)
			server.Quirks.Status = 0
			server.Reset()
			bs, _, err := read(s, "k", "", storage.Suffix(4))
			require.NoError(t, err)
			require.Equal(t, data[996:], bs[0])
			require.Equal(t, []string{"GET k bytes=-4"}, server.Requests())
		})
	}
}

func TestHTTPRetries(t *testing.T) {
	type q = storagetest.Quirks
	ms := time.Millisecond
	for _, tc := range []struct {
		name   string
		quirks q
		want   error
		slept  []time.Duration
	}{
		{"503 twice", q{Status: 503, Times: 2}, nil, []time.Duration{100 * ms, 200 * ms}},
		{"429 with a wish", q{Status: 429, RetryAfter: "2", Times: 1}, nil, []time.Duration{2000 * ms}},
		{"429 with a date", q{Status: 429, RetryAfter: "Thu, 01 Jan 1970 00:00:07 GMT", Times: 1}, nil, []time.Duration{7000 * ms}},
		{"429 with a date gone by", q{Status: 429, RetryAfter: "Wed, 31 Dec 1969 00:00:00 GMT", Times: 1}, nil, []time.Duration{100 * ms}},
		{"429 with a wish that is not granted", q{Status: 429, RetryAfter: "86400", Times: 1}, fault.ErrIO, nil},
		{"503 for ever", q{Status: 503}, fault.ErrIO, []time.Duration{100 * ms, 200 * ms, 400 * ms}},
		{"cut once", q{CutBy: 3, Times: 1}, nil, []time.Duration{100 * ms}},
		{"cut for ever", q{CutBy: 3}, fault.ErrIO, []time.Duration{100 * ms, 200 * ms, 400 * ms}},
		{"line broken once", q{BreakLine: true, Times: 1}, nil, []time.Duration{100 * ms}},
		{"404 is final", q{Status: 404, Times: 1}, fault.ErrNotFound, nil},
		{"403 is final", q{Status: 403, Times: 1}, fault.ErrNotAllowed, nil},
		{"wrong range is final", q{ShiftRange: 1}, fault.ErrIO, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			clock := storage.NewManualClock(time.Unix(0, 0))
			clock.Skip()
			_, s := origin(tc.quirks, storage.HTTPOptions{Clock: clock})
			bs, _, err := read(s, "k", "", storage.Range{Off: 5, Len: 10})
			if tc.want == nil {
				require.NoError(t, err)
				require.Equal(t, data[5:15], bs[0])
			} else {
				require.ErrorIs(t, err, tc.want)
			}
			slept := clock.Slept()
			require.Len(t, slept, len(tc.slept))
			for i, d := range tc.slept {
				if d >= time.Second {
					require.Equal(t, d, slept[i], "as the server wishes")
					continue
				}
				require.LessOrEqual(t, slept[i], d)
				require.GreaterOrEqual(t, slept[i], d/2)
			}
		})
	}
}

// TestHTTPJitter: clients that failed together do not come back together.
func TestHTTPJitter(t *testing.T) {
	waits := map[time.Duration]bool{}
	for range 20 {
		clock := storage.NewManualClock(time.Unix(0, 0))
		clock.Skip()
		_, s := origin(storagetest.Quirks{Status: 503, Times: 1}, storage.HTTPOptions{Clock: clock})
		_, _, err := read(s, "k", "", storage.Range{Off: 5, Len: 10})
		require.NoError(t, err)
		waits[clock.Slept()[0]] = true
	}
	require.Greater(t, len(waits), 10)
}

func TestHTTPCancelledInRetry(t *testing.T) {
	clock := storage.NewManualClock(time.Unix(0, 0))
	_, s := origin(storagetest.Quirks{Status: 503}, storage.HTTPOptions{Clock: clock})
	c, cancel := context.WithCancel(ctx)
	failed := make(chan error)
	go func() {
		_, _, err := s.ReadRanges(c, "k", []storage.Range{{Off: 5, Len: 10}}, "")
		failed <- err
	}()
	require.NoError(t, clock.Await(ctx, 1))
	cancel()
	require.ErrorIs(t, <-failed, fault.ErrCancelled)
}

// Several requests of one call are under way at once, and one that fails ends
// the others.
func TestHTTPParallel(t *testing.T) {
	server := storagetest.NewOrigin(map[string][]byte{"k": data})
	arrived, let := make(chan storage.Request, 8), make(chan bool)
	s := storage.NewHTTP(fetchFunc(func(ctx context.Context, r storage.Request) (storage.Response, error) {
		arrived <- r
		select {
		case ok := <-let:
			if !ok {
				return storage.Response{}, fault.New(fault.ErrIO, "http", "", "broken")
			}
			return server.Fetch(ctx, r)
		case <-ctx.Done():
			return storage.Response{}, storage.Ended(ctx, r.URL)
		}
	}), storagetest.OriginURL, storage.HTTPOptions{Gap: -1})
	rs := make([]storage.Range, 4)
	for i := range rs {
		rs[i] = storage.Range{Off: int64(i) * 100, Len: 50}
	}
	type result struct {
		bs  [][]byte
		err error
	}
	done := make(chan result, 1)
	start := func() {
		go func() {
			bs, _, err := s.ReadRanges(ctx, "k", rs, "")
			done <- result{bs, err}
		}()
		for range rs {
			<-arrived
		}
	}
	start()
	for range rs {
		let <- true
	}
	r := <-done
	require.NoError(t, r.err)
	for i := range rs {
		require.Equal(t, data[i*100:i*100+50], r.bs[i])
	}
	start()
	let <- false
	require.ErrorIs(t, (<-done).err, fault.ErrIO)
}

func TestHTTPFetcherPanics(t *testing.T) {
	s := storage.NewHTTP(fetchFunc(func(context.Context, storage.Request) (storage.Response, error) { panic("oops") }),
		storagetest.OriginURL, storage.HTTPOptions{Gap: -1})
	_, _, err := read(s, "k", "", storage.Range{Off: 0, Len: 1}, storage.Range{Off: 5, Len: 1})
	require.ErrorIs(t, err, fault.ErrInternal)
}

// FuzzHTTP: whatever a server answers, no panic, and never more bytes than
// were asked for, nor bytes of another place than the answer itself says.
func FuzzHTTP(f *testing.F) {
	f.Add(uint16(206), "bytes 5-14/1000", "10", "0123456789", int64(5), int64(10), uint8(0))
	f.Add(uint16(206), "bytes 990-999/1000", "10", "0123456789", int64(-1), int64(10), uint8(1))
	f.Add(uint16(200), "", "1000", "0123456789", int64(5), int64(-1), uint8(2))
	f.Add(uint16(416), "bytes */3", "", "", int64(5), int64(4), uint8(3))
	f.Add(uint16(206), "", "", "01234", int64(1<<62), int64(1<<62-1), uint8(0))
	f.Fuzz(func(t *testing.T, status uint16, span, length, body string, off, n int64, how uint8) {
		s := storage.NewHTTP(fetchFunc(func(_ context.Context, r storage.Request) (storage.Response, error) {
			b := []byte(body)
			if r.Method == "HEAD" {
				b = nil
			}
			res := storage.Response{Status: int(status), Body: b[:min(int64(len(b)), r.Limit)], Truncated: int64(len(b)) > r.Limit}
			for name, value := range map[string]string{"Content-Range": span, "Content-Length": length} {
				if value != "" {
					res.Header = append(res.Header, storage.Field{Name: name, Value: value})
				}
			}
			return res, nil
		}), storagetest.OriginURL, storage.HTTPOptions{NoSuffix: how&1 > 0, ForbiddenIsMissing: how&2 > 0})
		for range 2 { // what the first read taught may not harm the second
			bs, info, err := read(s, "k", "", storage.Range{Off: off, Len: n}, storage.Range{Off: 3, Len: 2})
			if err != nil {
				continue
			}
			require.Len(t, bs, 2)
			require.LessOrEqual(t, len(bs[1]), 2)
			require.GreaterOrEqual(t, info.Size, int64(-1))
			if n >= 0 {
				require.LessOrEqual(t, int64(len(bs[0])), n)
			}
			require.Contains(t, body, string(bs[0]))
			require.Contains(t, body, string(bs[1]))
		}
	})
}
