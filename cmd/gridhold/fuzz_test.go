package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/storage"
)

// FuzzLockLines speaks any lines to "lock --stdio": it ends when they do, has
// answered each lock that was asked for once, and gives back what it held. A
// dollar sign stands for a directory; locks elsewhere are not asked for.
func FuzzLockLines(f *testing.F) {
	for _, lines := range []string{
		`{"id":1,"path":"$/a","exclusive":true}` + "\n" + `{"id":1,"unlock":true}` + "\n",
		`{"id":1,"path":"$/a"}` + "\n" + `{"id":2,"path":"$/a","exclusive":true}` + "\n" + `{"id":2,"cancel":true}` + "\n",
		`{"id":1,"path":"$/a"}` + "\n" + `{"id":1,"path":"$/a"}` + "\n",
		`{"id":1,"path":"$/none/a"}` + "\n" + `{"id":2,"path":"a"}` + "\n" + `{"id":3,"path":"$/"}` + "\n",
		`{"id":9,"unlock":true}`, "[]", "{", `{"id":1e99}`,
	} {
		f.Add(lines)
	}
	f.Fuzz(func(t *testing.T, lines string) {
		dir := t.TempDir()
		lines = strings.ReplaceAll(lines, "$", filepath.ToSlash(dir))
		asked := 0
		for in := bufio.NewScanner(strings.NewReader(lines)); in.Scan(); {
			var w lockWish
			if json.Unmarshal(in.Bytes(), &w) != nil {
				break
			}
			if w.Cancel || w.Unlock {
				continue
			}
			if filepath.IsAbs(w.Path) && filepath.Dir(filepath.Clean(w.Path)) != dir {
				return
			}
			asked++
		}
		var out bytes.Buffer
		err := lockFor(t.Context(), strings.NewReader(lines), &out)
		answered := map[int64]int{}
		n := 0
		for answers := json.NewDecoder(&out); answers.More(); n++ {
			var a lockAnswer
			require.NoError(t, answers.Decode(&a))
			answered[a.ID]++
		}
		require.LessOrEqual(t, n, asked)
		if err == nil {
			require.Equal(t, asked, n)
		}
		// All of it was given back.
		require.NoError(t, lockFor(t.Context(), strings.NewReader(`{"id":1,"path":`+strconv.Quote(filepath.Join(dir, "a"))+`,"exclusive":true}`), &out))
	})
}

// FuzzWords reads what is written after flags: an error, or numbers of no sign.
func FuzzWords(f *testing.F) {
	for _, text := range []string{"0:10,5:7", ":", "3", "", "1:,:2", "-1", "18446744073709551616", "zstd:3", "gzip:-1", "lz4:9", "none", `[{"name":"bytes"}]`,
		"zip://a", "s3://b/k", "file:///a/b", "http://h/a%2fb?x#y", "http://[::1", "HTTP://h/", "/", "s3://b/"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if region, err := parseRegion(text); err == nil {
			for _, s := range region {
				require.True(t, s.start >= 0 && s.stop >= -1)
			}
		}
		if at, err := parseIndex("--chunk", text); err == nil {
			for _, n := range *at {
				require.GreaterOrEqual(t, n, int64(0))
			}
		}
		if codecs, err := parseCodec(text, littleEndian); err == nil {
			for _, c := range codecs {
				require.True(t, c.Configuration == nil || json.Valid(c.Configuration), "%s", c.Configuration)
			}
		}
		if p, err := parseBlosc(text); err == nil {
			require.True(t, p.Level >= 0 && p.Level <= 9)
		}
		if _, key, err := apart(text); err == nil {
			require.True(t, storage.ValidKey(key) && !strings.Contains(key, "/"), key)
		}
		_, _ = localPath(text)
	})
}
