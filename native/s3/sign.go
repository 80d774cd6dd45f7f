package s3

import (
	"bytes"
	"io"
	"net/http"
	"strings"

	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/signer"

	"github.com/gridhold/gridhold/native/web"
	"github.com/gridhold/gridhold/sdk/fault"
)

// signing signs requests without a body to one host; those that a redirect
// leads elsewhere go unsigned, and those that come back from there. Of what is answered 404 it tells an object that
// is missing, which means fill values, from all else.
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
	if err == nil {
		plain(res.Header)
	}
	if err != nil || res.StatusCode != http.StatusNotFound || r.Method == http.MethodHead {
		return res, err
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, 4<<10))
	res.Body.Close()
	if err != nil {
		return nil, err
	}
	switch code := codeOf(text); code {
	case "", "NoSuchKey", "NoSuchVersion":
	case "NoSuchBucket":
		return nil, noBucket(r.URL.Host, r.URL.Path)
	case unknownUser, unknownUserVersity:
		return nil, fault.New(fault.ErrNotAllowed, "s3", r.URL.Host, "unknown access key")
	default:
		return nil, fault.New(fault.ErrIO, "s3", r.URL.Host, "status 404, "+code)
	}
	res.Body = io.NopCloser(bytes.NewReader(text))
	return res, nil
}

// What servers say of an access key that they do not know; AWS with 403.
const (
	unknownUser        = "InvalidAccessKeyId"
	unknownUserVersity = "XAdminUserNotFound"
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
