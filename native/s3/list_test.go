package s3_test

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/native/s3"
	"github.com/gridhold/gridhold/sdk/fault"
)

// TestListPages: a list comes in pages, its names escaped once; one that breaks
// off is an error, never a shorter list.
func TestListPages(t *testing.T) {
	alone(t)
	odd := []string{"a b", "a+b", "a#b", "a?b", "a%20b", "é", "日本語"}
	pages, broken := 0, false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		page := 0
		fmt.Sscan(q.Get("continuation-token"), &page)
		if pages++; broken && page == 2 {
			http.Error(w, "<Error><Code>AccessDenied</Code></Error>", http.StatusForbidden)
			return
		}
		var b strings.Builder
		fmt.Fprintf(&b, "<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>%t</IsTruncated>", page < 2)
		if page < 2 {
			fmt.Fprintf(&b, "<NextContinuationToken>%d</NextContinuationToken>", page+1)
		}
		put := func(name string) {
			b.WriteString("<Contents><Key>")
			xml.EscapeText(&b, []byte(url.QueryEscape(q.Get("prefix")+name)))
			b.WriteString("</Key><Size>1</Size></Contents>")
		}
		for i := range 1000 {
			put(fmt.Sprintf("%d-%04d", page, i))
		}
		put(odd[page])
		for _, name := range odd[3:] {
			put(name)
		}
		b.WriteString("</ListBucketResult>")
		w.Write([]byte(b.String()))
	}))
	t.Cleanup(server.Close)
	s, err := s3.Open(t.Context(), "s3://bucket/x y", s3.Options{Endpoint: server.URL, AccessKey: "a", SecretKey: "s"})
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	names, err := s.List(t.Context(), "c/")
	require.NoError(t, err)
	require.Len(t, names, 3000+len(odd))
	require.Equal(t, 3, pages)
	require.Subset(t, names, odd)
	broken = true
	names, err = s.List(t.Context(), "c/")
	require.ErrorIs(t, err, fault.ErrNotAllowed)
	require.Nil(t, names)
}
