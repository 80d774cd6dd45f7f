package s3

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/signer"

	"github.com/gridhold/gridhold/native/web"
	"github.com/gridhold/gridhold/sdk/fault"
)

// signing signs requests without a body to one host; those that a redirect
// leads elsewhere go unsigned, and those that come back from there. It tells an
// object that is missing, which means fill values, from what else is answered
// with the same status.
type signing struct {
	next   http.RoundTripper
	host   string
	region string
	creds  *credentials.Credentials
}

// emptyHash is the SHA-256 of no bytes.
const emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// RoundTrip is http.RoundTripper's.
func (s *signing) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host == s.host && web.SameOrigin(r) {
		v, err := s.creds.GetWithContext(&credentials.CredContext{Client: &http.Client{Transport: s.next}})
		if err != nil {
			return nil, fault.New(fault.ErrNotAllowed, "s3", "", "no credentials: "+err.Error())
		}
		if !v.SignerType.IsAnonymous() {
			r = r.Clone(r.Context()) // a RoundTripper leaves its request as it is
			r.Header.Set("X-Amz-Content-Sha256", emptyHash)
			r = signer.SignV4(*r, v.AccessKeyID, v.SecretAccessKey, v.SessionToken, s.region)
		}
	}
	res, err := s.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	plain(res.Header)
	if r.Method == http.MethodHead || !explains(res.StatusCode) {
		return res, nil
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, 4<<10))
	res.Body.Close()
	if err != nil {
		return nil, err
	}
	if err := s.refusal(r.URL, res, codeOf(text)); err != nil {
		return nil, err
	}
	res.Body = io.NopCloser(bytes.NewReader(text))
	return res, nil
}

// explains reports whether answers of a status have a code that tells more.
func explains(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusTemporaryRedirect, http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound:
		return true
	}
	return false
}

// refusal is the error of a code that storage.HTTP cannot tell by the status,
// nil for others. Above all, a 403 that storage.HTTPOptions.ForbiddenIsMissing
// may take for a missing object is one about the object, not about who asks.
func (s *signing) refusal(at *url.URL, res *http.Response, code string) error {
	region := res.Header.Get("X-Amz-Bucket-Region")
	switch code {
	case "", "NoSuchKey", "NoSuchVersion", "AccessDenied", "AllAccessDisabled":
		return nil
	case "NoSuchBucket":
		return noBucket(at.Host, at.Path)
	case unknownUser, unknownUserVersity:
		return fault.New(fault.ErrNotAllowed, "s3", at.Host, "unknown access key")
	case expiredToken, badToken:
		return fault.New(fault.ErrNotAllowed, "s3", at.Host, "the session token is not taken any more, "+code)
	case "PermanentRedirect", "TemporaryRedirect", "AuthorizationHeaderMalformed":
		if res.Header.Get("Location") != "" {
			return nil // to be followed
		}
		why := "the bucket is not in region " + s.region
		if region != "" {
			why += " but in " + region
		}
		return fault.New(fault.ErrInvalid, "s3", at.Host, why)
	}
	switch res.StatusCode {
	case http.StatusForbidden:
		return fault.New(fault.ErrNotAllowed, "s3", at.Host, "status 403, "+code)
	case http.StatusNotFound:
		return fault.New(fault.ErrIO, "s3", at.Host, "status 404, "+code)
	}
	return nil // of 400 too: some refuse a suffix range so
}

// What servers say of an access key that they do not know, AWS with 403; and of
// a session token, with 400.
const (
	unknownUser        = "InvalidAccessKeyId"
	unknownUserVersity = "XAdminUserNotFound"
	expiredToken       = "ExpiredToken"
	badToken           = "InvalidToken"
)

// codeOf is the code in the text of an error; "" if it is no error of S3.
func codeOf(text []byte) string {
	_, rest, _ := bytes.Cut(text, []byte("<Code>"))
	code, _, ok := bytes.Cut(rest, []byte("</Code>"))
	if !ok {
		return ""
	}
	return string(code)
}

// plain takes "aws-chunked" out of what the encodings of an answer are said to
// be. It is how a request brought the object once; some servers keep it.
func plain(h http.Header) {
	var codings []string
	for _, c := range strings.Split(h.Get("Content-Encoding"), ",") {
		if c = strings.TrimSpace(c); c != "" && !strings.EqualFold(c, "aws-chunked") {
			codings = append(codings, c)
		}
	}
	if h.Del("Content-Encoding"); codings != nil {
		h.Set("Content-Encoding", strings.Join(codings, ", "))
	}
}

// noBucket is not ErrNotFound, which would read as an array of fill values.
func noBucket(host, path string) error {
	name, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return fault.New(fault.ErrInvalid, "s3", host, "no such bucket: "+name)
}
