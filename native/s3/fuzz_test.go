package s3

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// bare takes away what the environment says of AWS, and returns the files that
// it leads to.
func bare(f *testing.F) (config, credentials string) {
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "AWS_") {
			f.Setenv(name, "")
		}
	}
	dir := f.TempDir()
	config, credentials = filepath.Join(dir, "config"), filepath.Join(dir, "credentials")
	f.Setenv("AWS_CONFIG_FILE", config)
	f.Setenv("AWS_SHARED_CREDENTIALS_FILE", credentials)
	return config, credentials
}

// FuzzProfile reads files of AWS with anything in them: what comes of it is a
// server, and AWS's own if none is named.
func FuzzProfile(f *testing.F) {
	config, credentials := bare(f)
	f.Add([]byte("# ours\n[default]\nregion = eu-west-3\nendpoint_url = http://127.0.0.1:1\n"), []byte("[default]\naws_access_key_id = a\naws_secret_access_key = b\n"), "")
	f.Add([]byte("[profile other]\r\nregion=mars\r\ns3 =\r\n  endpoint_url = https://h/\r\n\taddressing_style = path\r\n"), []byte("[other]\naws_session_token\n[other"), "other")
	f.Add([]byte("[default]\nregion = evil.example/#\n"), []byte("[default]\ncredential_process = \n"), "default")
	f.Add([]byte("[default]\nregion = %zz\n=\n = \n[]\n[profile ]\n"), []byte("="), " ")
	f.Fuzz(func(t *testing.T, text, secret []byte, profile string) {
		if err := os.WriteFile(config, text, 0o600); err != nil {
			t.Fatal(err)
		}
		// A process that is named there would be run.
		if err := os.WriteFile(credentials, []byte(strings.ReplaceAll(string(secret), "credential_process", "process")), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Options{Profile: profile}.config()
		if err != nil {
			if fault.CodeOf(err) != fault.CodeInvalid {
				t.Fatal(err)
			}
			return
		}
		again, err := url.Parse(c.endpoint.String())
		if err != nil || again.Host != c.endpoint.Host || again.Host == "" || again.Path != "" || again.Fragment != "" || again.User != nil {
			t.Fatalf("the endpoint %q: %v", c.endpoint, err)
		}
		if host := c.endpoint.Host; c.aws && !strings.HasSuffix(host, ".amazonaws.com") && !strings.HasSuffix(host, ".amazonaws.com.cn") {
			t.Fatalf("%q is not AWS", host)
		}
		_, _ = c.creds.GetWithContext(nil)
	})
}

// FuzzAnswers has a server answer whatever it likes, to each kind of request,
// three times: what comes of it is names that may be asked for, at most as many
// bytes as were asked for, or an error of a kind.
func FuzzAnswers(f *testing.F) {
	bare(f)
	type answer struct {
		status int
		header string
		body   []byte
	}
	var next atomic.Pointer[answer]
	var left atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := next.Load()
		if left.Add(-1) < 0 {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		for _, line := range strings.Split(a.header, "\n") {
			if name, value, ok := strings.Cut(line, ": "); ok {
				w.Header().Set(name, value)
			}
		}
		w.WriteHeader(a.status)
		_, _ = w.Write(a.body)
	}))
	f.Cleanup(server.Close)
	const list = "<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>" +
		"<Contents><Key>p/a%20b</Key><Size>1</Size></Contents><Contents><Key>other</Key></Contents><CommonPrefixes><Prefix>p/../</Prefix></CommonPrefixes></ListBucketResult>"
	f.Add(uint8(0), uint16(200), "Content-Type: application/xml", []byte(list))
	f.Add(uint8(0), uint16(403), "", []byte("<Error><Code>AccessDenied</Code><Message>no</Message></Error>"))
	f.Add(uint8(1), uint16(206), "Content-Range: bytes 0-3/8\nETag: \"e\"", []byte("abcd"))
	f.Add(uint8(1), uint16(301), "X-Amz-Bucket-Region: %zz\nLocation: http://127.0.0.1:1/", []byte("<Error><Code>PermanentRedirect</Code><Region>x y</Region></Error>"))
	f.Add(uint8(2), uint16(412), "", []byte("<Error><Code>PreconditionFailed</Code>"))
	f.Add(uint8(2), uint16(200), "ETag: ", []byte{})
	f.Add(uint8(3), uint16(400), "", []byte("<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu</Region></Error>"))
	f.Add(uint8(3), uint16(204), "", []byte{})
	known := []fault.Code{
		fault.CodeNotFound, fault.CodeCorrupt, fault.CodeStale, fault.CodeOutOfRange, fault.CodeLimit, fault.CodeInvalid, fault.CodeIO,
		fault.CodeNotAllowed, fault.CodeExists, fault.CodeUnsupported,
	}
	s, err := Open(f.Context(), "s3://bucket/p", Options{Endpoint: server.URL, AccessKey: "a", SecretKey: "s", HTTP: storage.HTTPOptions{Retries: -1}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close() })
	f.Fuzz(func(t *testing.T, what uint8, status uint16, header string, body []byte) {
		// What may pass is tried again, after a while.
		status = 200 + status%300
		if status == http.StatusRequestTimeout || status == http.StatusTooManyRequests || status == 499 || status < 200 {
			return
		}
		for _, code := range []string{"Slow", "Timeout", "Internal", "Throttl", "Expired", "Unavailable", "TooMany", "Exceeded", "Retry"} {
			if strings.Contains(string(body)+header, code) {
				return
			}
		}
		next.Store(&answer{int(status), header, body})
		left.Store(3)
		var err error
		switch what % 4 {
		case 0:
			var names []string
			names, err = s.List(t.Context(), "")
			if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) < len(names) {
				t.Fatalf("in no order, or twice: %q", names)
			}
			for _, name := range names {
				if plain := strings.TrimSuffix(name, "/"); !storage.ValidKey(plain) || strings.Contains(plain, "/") {
					t.Fatalf("the name %q", name)
				}
			}
			if err != nil && names != nil {
				t.Fatalf("%q and %v", names, err)
			}
		case 1:
			var bs [][]byte
			bs, _, err = s.ReadRanges(t.Context(), "k", []storage.Range{{Off: 0, Len: 4}}, "")
			if err == nil && (len(bs) != 1 || len(bs[0]) > 4) { // short at the end of an object
				t.Fatalf("%q", bs)
			}
		case 2:
			_, err = s.Put(t.Context(), "k", []byte("data"), storage.Condition{Absent: what&4 > 0})
		default:
			c := storage.Condition{}
			if what&4 > 0 {
				c.Version = `"e"`
			}
			err = s.Delete(t.Context(), "k", c)
		}
		if err != nil && !slices.Contains(known, fault.CodeOf(err)) {
			t.Fatalf("%v, which is %d", err, fault.CodeOf(err))
		}
	})
}

// TestEndlessList: a server that has always more to list is no reason to run
// out of memory.
func TestEndlessList(t *testing.T) {
	most := mostNames
	mostNames = 2500
	t.Cleanup(func() { mostNames = most })
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>" +
			strings.Repeat("<Contents><Key>a</Key></Contents>", 1000) + "</ListBucketResult>"))
	}))
	t.Cleanup(server.Close)
	s, err := Open(t.Context(), "s3://bucket", Options{Endpoint: server.URL, AccessKey: "a", SecretKey: "s"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if _, err := s.List(t.Context(), ""); fault.CodeOf(err) != fault.CodeLimit {
		t.Fatal(err)
	}
}

// TestRegionIsNoServer: who names a region, in a file or in an answer, does not
// choose the server that gets the requests.
func TestRegionIsNoServer(t *testing.T) {
	for _, region := range []string{"evil.example/#", "a@b", "a b", "%zz", "a:1", "EU", "eu_west"} {
		if _, err := awsEndpoint(region); fault.CodeOf(err) != fault.CodeInvalid {
			t.Errorf("%q: %v", region, err)
		}
	}
	for region, want := range map[string]string{"eu-west-3": "https://s3.eu-west-3.amazonaws.com", "cn-north-1": "https://s3.cn-north-1.amazonaws.com.cn"} {
		if u, err := awsEndpoint(region); err != nil || u.String() != want {
			t.Errorf("%q: %v, %v", region, u, err)
		}
	}
}
