package s3_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/native/s3"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// TestRefusalsOfAWS: what AWS answers, and versitygw does not. Who is not known
// any more, or asks at the wrong place, never reads fill values, even where 403
// stands for a missing object.
func TestRefusalsOfAWS(t *testing.T) {
	alone(t)
	for _, tc := range []struct {
		status int
		code   string
		region string
		want   error // with ForbiddenIsMissing
		text   string
	}{
		{403, "AccessDenied", "", fault.ErrNotFound, ""},
		{404, "NoSuchKey", "", fault.ErrNotFound, ""},
		{403, "SignatureDoesNotMatch", "", fault.ErrNotAllowed, "SignatureDoesNotMatch"},
		{403, "RequestTimeTooSkewed", "", fault.ErrNotAllowed, "RequestTimeTooSkewed"},
		{403, "InvalidAccessKeyId", "", fault.ErrNotAllowed, "unknown access key"},
		{403, "InvalidObjectState", "", fault.ErrNotAllowed, "InvalidObjectState"}, // in an archive
		{400, "ExpiredToken", "", fault.ErrNotAllowed, "ExpiredToken"},
		{400, "InvalidToken", "", fault.ErrNotAllowed, "InvalidToken"},
		{400, "AuthorizationHeaderMalformed", "eu-west-1", fault.ErrInvalid, "not in region us-east-1 but in eu-west-1"},
		{301, "PermanentRedirect", "eu-west-1", fault.ErrInvalid, "not in region us-east-1 but in eu-west-1"},
		{301, "PermanentRedirect", "", fault.ErrInvalid, "not in region us-east-1"},
		{404, "NoSuchBucket", "", fault.ErrInvalid, "no such bucket: b"},
		{404, "NoSuchUpload", "", fault.ErrIO, "NoSuchUpload"},
	} {
		t.Run(fmt.Sprint(tc.status, " ", tc.code), func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if tc.region != "" {
					w.Header().Set("X-Amz-Bucket-Region", tc.region)
				}
				w.Header().Set("Content-Type", "application/xml")
				w.WriteHeader(tc.status)
				if r.Method != http.MethodHead {
					fmt.Fprintf(w, "<?xml version=\"1.0\"?>\n<Error><Code>%s</Code><Message>no</Message></Error>", tc.code)
				}
			}))
			t.Cleanup(server.Close)
			s, err := s3.Open(t.Context(), "s3://b", s3.Options{
				Endpoint: server.URL, AccessKey: "a", SecretKey: "s", SessionToken: "t", HTTP: storage.HTTPOptions{ForbiddenIsMissing: true, Retries: -1},
			})
			require.NoError(t, err)
			t.Cleanup(func() { s.Close() })
			for _, r := range []storage.Range{storage.All, storage.Suffix(9), {Off: 3, Len: 4}} {
				_, _, err = s.ReadRanges(t.Context(), "k", []storage.Range{r}, "")
				require.ErrorIs(t, err, tc.want)
				require.ErrorContains(t, err, tc.text)
			}
		})
	}
}
