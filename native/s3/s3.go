package s3

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/minio/minio-go/v7"

	"github.com/gridhold/gridhold/native/web"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// Store is the objects of a bucket below a prefix: storage.Store, Lister and
// Putter. Safe for concurrent use.
//
// The version of an object is its ETag. Errors of reads are those of
// storage.HTTP, and ErrInvalid for a bucket that is not there.
type Store struct {
	*storage.HTTP
	bucket, prefix string // prefix: "" or ending in "/"
	client         *minio.Client
	fetcher        *web.Fetcher
	transport      *http.Transport
}

// Parse reads "s3://bucket/prefix". The prefix is taken as it is written:
// nothing in it is escaped.
func Parse(name string) (bucket, prefix string, err error) {
	rest, ok := strings.CutPrefix(name, "s3://")
	bucket, prefix, _ = strings.Cut(rest, "/")
	prefix = strings.Trim(prefix, "/")
	if !ok || bucket == "" || prefix != "" && !storage.ValidKey(prefix) {
		return "", "", fault.New(fault.ErrInvalid, "s3", name, "want s3://bucket/key")
	}
	return bucket, prefix, nil
}

// Open makes a store of what lies below an s3:// URL. Nothing is asked of the
// server, except where the bucket is if that is not known and it is AWS's.
func Open(ctx context.Context, name string, o Options) (*Store, error) {
	bucket, prefix, err := Parse(name)
	if err != nil {
		return nil, err
	}
	c, err := o.config()
	if err != nil {
		return nil, err
	}
	transport := web.NewTransport()
	if c.region == "" {
		if c.region, err = regionOf(ctx, transport, c.endpoint, bucket); err != nil {
			return nil, err
		}
		if c.endpoint, err = awsEndpoint(c.region); err != nil {
			return nil, err
		}
	}
	lookup, base := minio.BucketLookupPath, *c.endpoint
	base.Path = "/" + bucket + "/"
	if c.virtual && (c.endpoint.Scheme == "http" || !strings.Contains(bucket, ".")) { // whose names no certificate covers
		lookup, base.Host, base.Path = minio.BucketLookupDNS, bucket+"."+base.Host, "/"
	}
	s := &Store{bucket: bucket, transport: transport}
	root := base.String()
	if prefix != "" {
		s.prefix = prefix + "/"
		root += storage.EscapeKey(s.prefix)
	}
	s.client, err = minio.New(c.endpoint.Host, &minio.Options{
		Creds: c.creds, Secure: c.endpoint.Scheme == "https", Transport: transport, Region: c.region, BucketLookup: lookup, MaxRetries: 4,
	})
	if err != nil {
		return nil, fault.New(fault.ErrInvalid, "s3", name, err.Error())
	}
	s.fetcher = web.New(web.Options{Transport: &signing{transport, base.Host, c.region, c.creds}})
	if o.HTTP.Clock == nil {
		o.HTTP.Clock = web.Clock{}
	}
	s.HTTP = storage.NewHTTP(s.fetcher, root, o.HTTP)
	return s, nil
}

// regionOf asks AWS for the region of a bucket, which it tells anybody.
func regionOf(ctx context.Context, transport http.RoundTripper, endpoint *url.URL, bucket string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodHead, endpoint.JoinPath(bucket).String(), nil)
	if err != nil {
		return "", fault.New(fault.ErrInvalid, "s3", bucket, "not the name of a bucket")
	}
	res, err := transport.RoundTrip(r) // not a client: a redirect tells it too
	if err != nil {
		if ended := storage.Ended(ctx, bucket); ended != nil {
			return "", ended
		}
		return "", fault.New(fault.ErrIO, "s3", bucket, err.Error())
	}
	res.Body.Close()
	region := res.Header.Get("X-Amz-Bucket-Region")
	switch {
	case region != "":
		return region, nil
	case res.StatusCode == http.StatusNotFound:
		return "", noBucket(endpoint.Host, bucket)
	}
	return "us-east-1", nil
}

// Close drops idle connections. Later requests make new ones.
func (s *Store) Close() error {
	s.transport.CloseIdleConnections()
	return nil
}

// mostNames bounds a list. A variable, for its test.
var mostNames = 1 << 24

// List is storage.Lister's. ErrLimit for more than 16 Mi names.
func (s *Store) List(ctx context.Context, prefix string) ([]string, error) {
	if err := storage.CheckPrefix(prefix); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx) // ends the channel's sender whenever we leave
	defer cancel()
	names := []string{}
	for o := range s.client.ListObjects(ctx, s.bucket, minio.ListObjectsOptions{Prefix: s.prefix + prefix}) {
		if o.Err != nil {
			return nil, s.failure(ctx, prefix, o.Err)
		}
		name, below := strings.CutPrefix(o.Key, s.prefix+prefix)
		plain := strings.TrimSuffix(name, "/")
		if below && storage.ValidKey(plain) && !strings.Contains(plain, "/") { // "" is the mark of a directory itself
			names = append(names, name)
		}
		if len(names) > mostNames { // a server may go on for ever
			return nil, fault.New(fault.ErrLimit, "s3", prefix, "more names than anybody lists")
		}
	}
	if err := storage.Ended(ctx, prefix); err != nil {
		return nil, err
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// largest is what one PUT may have. An object put in parts would get another
// kind of tag, and conditions hold for one request.
const largest = 5 << 30

// Put is storage.Putter's. The server has to know If-None-Match and If-Match
// on PUT, as AWS does since 2024, for conditions to hold against other
// writers.
func (s *Store) Put(ctx context.Context, key string, data []byte, c storage.Condition) (storage.Version, error) {
	if err := storage.CheckRead(ctx, key, nil); err != nil {
		return "", err
	}
	if int64(len(data)) > largest {
		return "", fault.New(fault.ErrLimit, "s3", key, "an object of more than 5 GiB")
	}
	o := minio.PutObjectOptions{
		DisableMultipart: true, ContentType: "application/octet-stream",
		// In one piece with a checksum, rather than in signed chunks.
		DisableContentSha256: true, SendContentMd5: true,
	}
	switch {
	case c.Absent:
		o.SetMatchETagExcept("*")
	case c.Version != "":
		o.SetMatchETag(untagged(c.Version))
	}
	info, err := s.client.PutObject(ctx, s.bucket, s.prefix+key, bytes.NewReader(data), int64(len(data)), o)
	if err != nil {
		return "", s.unwritten(ctx, key, err, c)
	}
	return tagged(info.ETag), nil
}

// Delete is storage.Putter's. A condition is checked before and sent along;
// servers that know no If-Match on DELETE leave a moment between.
func (s *Store) Delete(ctx context.Context, key string, c storage.Condition) error {
	if err := storage.CheckRead(ctx, key, nil); err != nil {
		return err
	}
	if c == (storage.Condition{}) {
		err := s.client.RemoveObject(ctx, s.bucket, s.prefix+key, minio.RemoveObjectOptions{})
		return s.unwritten(ctx, key, err, c)
	}
	_, info, err := s.ReadRanges(ctx, key, nil, "")
	absent := errors.Is(err, fault.ErrNotFound)
	if err != nil && !absent {
		return err
	}
	if err := c.Check(key, !absent, info.Version); err != nil || absent {
		return err
	}
	res, err := s.fetcher.Fetch(ctx, storage.Request{
		Method: http.MethodDelete, URL: s.URL(key), Header: []storage.Field{{Name: "If-Match", Value: string(c.Version)}},
	})
	switch {
	case err != nil:
		return err
	case res.Status == http.StatusPreconditionFailed, res.Status == http.StatusConflict:
		return storage.Stale(key)
	case res.Status >= 300 && res.Status != http.StatusNotFound:
		return kindOf(res.Status, key, http.StatusText(res.Status))
	}
	return nil
}

// Versions are ETags as reads have them, with quotes; minio-go takes them off.
func tagged(etag string) storage.Version { return storage.Version(`"` + strings.Trim(etag, `"`) + `"`) }
func untagged(v storage.Version) string  { return strings.Trim(string(v), `"`) }

// unwritten is the error of a write that failed.
func (s *Store) unwritten(ctx context.Context, key string, err error, c storage.Condition) error {
	if err == nil {
		return nil
	}
	switch r := minio.ToErrorResponse(err); {
	case r.StatusCode == http.StatusPreconditionFailed && c.Absent:
		return c.Check(key, true, "")
	case r.StatusCode == http.StatusPreconditionFailed, r.StatusCode == http.StatusConflict, r.Code == "NoSuchKey" && c.Version != "":
		return storage.Stale(key)
	}
	return s.failure(ctx, key, err)
}

// failure makes an error of minio-go one of ours.
func (s *Store) failure(ctx context.Context, item string, err error) error {
	if ended := storage.Ended(ctx, item); ended != nil {
		return ended
	}
	r := minio.ToErrorResponse(err)
	switch r.Code {
	case "NoSuchBucket":
		return noBucket(s.client.EndpointURL().Host, s.bucket)
	case unknownUser, unknownUserVersity, expiredToken, badToken:
		r.StatusCode = http.StatusForbidden
	}
	return kindOf(r.StatusCode, item, err.Error())
}

func kindOf(status int, item, why string) error {
	kind := fault.ErrIO
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		kind = fault.ErrNotAllowed
	case http.StatusNotFound:
		kind = fault.ErrNotFound
	case http.StatusBadRequest, http.StatusMethodNotAllowed:
		kind = fault.ErrInvalid
	}
	return fault.New(kind, "s3", item, why)
}
