package s3_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/native/s3"
	"github.com/gridhold/gridhold/native/s3/s3test"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/storage/storagetest"
)

// alone keeps the environment's own AWS settings out of a test.
func alone(t *testing.T) {
	for _, name := range []string{
		"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
		"AWS_SESSION_TOKEN", "AWS_NO_SIGN_REQUEST", "AWS_VIRTUAL_HOSTED_STYLE_REQUEST", "AWS_WEB_IDENTITY_TOKEN_FILE",
		"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
	} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(t.TempDir(), "config"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(t.TempDir(), "credentials"))
}

func open(t *testing.T, g *s3test.Gateway, name string, o s3.Options) *s3.Store {
	t.Helper()
	o.Endpoint = g.Endpoint
	if o.AccessKey == "" && !o.Anonymous {
		o.AccessKey, o.SecretKey = s3test.AccessKey, s3test.SecretKey
	}
	s, err := s3.Open(t.Context(), name, o)
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// TestStore runs the suite, odd names among it: blanks, plus, hash, question
// mark, percent and letters outside ASCII reach one key each.
func TestStore(t *testing.T) {
	alone(t)
	storagetest.Store(t, func(t *testing.T, objects map[string][]byte) storage.Store {
		s := open(t, s3test.Start(t, "bucket"), "s3://bucket/a prefix/of +#?%20é", s3.Options{})
		for key, data := range objects {
			_, err := s.Put(t.Context(), key, data, storage.Condition{})
			require.NoError(t, err, key)
		}
		return s
	})
}

// TestKeysAreFiles: names are those of the server's own files, nothing is
// escaped twice.
func TestKeysAreFiles(t *testing.T) {
	alone(t)
	g := s3test.Start(t, "bucket")
	s := open(t, g, "s3://bucket", s3.Options{})
	for _, key := range []string{"a b", "a+b", "a#b", "a?b", "a%20b", "é", "e\u0301", "日本語"} {
		_, err := s.Put(t.Context(), "x/"+key, []byte(key), storage.Condition{})
		require.NoError(t, err)
		b, err := os.ReadFile(filepath.Join(g.Dir, "bucket", "x", key))
		require.NoError(t, err)
		require.Equal(t, key, string(b))
		got, _, err := storage.ReadAll(t.Context(), s, "x/"+key, 100)
		require.NoError(t, err)
		require.Equal(t, key, string(got))
	}
	names, err := s.List(t.Context(), "x/")
	require.NoError(t, err)
	want := []string{"a b", "a+b", "a#b", "a?b", "a%20b", "é", "e\u0301", "日本語"}
	slices.Sort(want)
	require.Equal(t, want, names)
}

func TestPutConditions(t *testing.T) {
	alone(t)
	s := open(t, s3test.Start(t, "bucket"), "s3://bucket/p", s3.Options{})
	put := func(data string, c storage.Condition) (storage.Version, error) {
		return s.Put(t.Context(), "a/b", []byte(data), c)
	}
	first, err := put("one", storage.Condition{Absent: true})
	require.NoError(t, err)
	_, err = put("two", storage.Condition{Absent: true})
	require.ErrorIs(t, err, fault.ErrExists)
	_, info, err := storage.ReadAll(t.Context(), s, "a/b", 100)
	require.NoError(t, err)
	require.Equal(t, first, info.Version)
	second, err := put("three", storage.Condition{Version: first})
	require.NoError(t, err)
	_, err = put("four", storage.Condition{Version: first})
	require.ErrorIs(t, err, fault.ErrStale)
	b, _, err := storage.ReadAll(t.Context(), s, "a/b", 100)
	require.NoError(t, err)
	require.Equal(t, "three", string(b))
	require.ErrorIs(t, s.Delete(t.Context(), "a/b", storage.Condition{Version: first}), fault.ErrStale)
	require.ErrorIs(t, s.Delete(t.Context(), "a/b", storage.Condition{Absent: true}), fault.ErrExists)
	require.NoError(t, s.Delete(t.Context(), "a/b", storage.Condition{Version: second}))
	require.NoError(t, s.Delete(t.Context(), "a/b", storage.Condition{}), "nothing there is fine")
	require.NoError(t, s.Delete(t.Context(), "a/b", storage.Condition{Absent: true}))
	require.ErrorIs(t, s.Delete(t.Context(), "a/b", storage.Condition{Version: second}), fault.ErrStale)
	_, err = put("five", storage.Condition{Version: second})
	require.ErrorIs(t, err, fault.ErrStale)
	_, _, err = storage.ReadAll(t.Context(), s, "a/b", 100)
	require.ErrorIs(t, err, fault.ErrNotFound)
	_, err = s.Put(t.Context(), "../out", nil, storage.Condition{})
	require.ErrorIs(t, err, fault.ErrInvalid)
}

// TestOneOfManyWins: writers that meet at a key with the same version.
func TestOneOfManyWins(t *testing.T) {
	alone(t)
	s := open(t, s3test.Start(t, "bucket"), "s3://bucket", s3.Options{})
	_, info, err := func() ([]byte, storage.ObjectInfo, error) {
		_, err := s.Put(t.Context(), "k", []byte("0"), storage.Condition{})
		require.NoError(t, err)
		return storage.ReadAll(t.Context(), s, "k", 10)
	}()
	require.NoError(t, err)
	won := make(chan int, 8)
	var wg sync.WaitGroup
	for i := range cap(won) {
		wg.Go(func() {
			_, err := s.Put(t.Context(), "k", fmt.Appendf(nil, "writer %d", i), storage.Condition{Version: info.Version})
			switch fault.CodeOf(err) {
			case 0:
				won <- i
			case fault.CodeStale:
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	close(won)
	require.Len(t, won, 1)
	b, _, err := storage.ReadAll(t.Context(), s, "k", 100)
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("writer %d", <-won), string(b))
}

// TestConditionalRead: ranges of a version that was overwritten are refused.
func TestConditionalRead(t *testing.T) {
	alone(t)
	s := open(t, s3test.Start(t, "bucket"), "s3://bucket", s3.Options{})
	data := storagetest.Pattern(1000, 1)
	_, err := s.Put(t.Context(), "k", data, storage.Condition{})
	require.NoError(t, err)
	bs, info, err := s.ReadRanges(t.Context(), "k", []storage.Range{storage.Suffix(10)}, "")
	require.NoError(t, err)
	require.Equal(t, data[990:], bs[0])
	_, err = s.Put(t.Context(), "k", storagetest.Pattern(1000, 2), storage.Condition{})
	require.NoError(t, err)
	_, _, err = s.ReadRanges(t.Context(), "k", []storage.Range{{Off: 3, Len: 5}}, info.Version)
	require.ErrorIs(t, err, fault.ErrStale)
}

func TestRefusals(t *testing.T) {
	alone(t)
	g := s3test.Start(t, "bucket")
	read := func(name string, o s3.Options) (*s3.Store, error) {
		s := open(t, g, name, o)
		_, _, err := storage.ReadAll(t.Context(), s, "k", 100)
		return s, err
	}
	t.Run("missing bucket", func(t *testing.T) {
		s, err := read("s3://nothere", s3.Options{})
		require.ErrorIs(t, err, fault.ErrInvalid)
		require.NotErrorIs(t, err, fault.ErrNotFound, "or an array would read as fill values")
		require.ErrorContains(t, err, "no such bucket")
		_, err = s.Put(t.Context(), "k", nil, storage.Condition{})
		require.ErrorContains(t, err, "no such bucket")
		_, err = s.List(t.Context(), "")
		require.ErrorContains(t, err, "no such bucket")
	})
	t.Run("wrong key", func(t *testing.T) {
		_, err := open(t, g, "s3://bucket", s3.Options{}).Put(t.Context(), "k", []byte("x"), storage.Condition{})
		require.NoError(t, err)
		for _, o := range []s3.Options{{AccessKey: "nobody", SecretKey: "x"}, {AccessKey: s3test.AccessKey, SecretKey: "wrong"}, {Anonymous: true}} {
			s, err := read("s3://bucket", o)
			require.ErrorIs(t, err, fault.ErrNotAllowed, "%+v", o)
			_, err = s.Put(t.Context(), "k", nil, storage.Condition{})
			require.ErrorIs(t, err, fault.ErrNotAllowed)
			_, err = s.List(t.Context(), "")
			require.ErrorIs(t, err, fault.ErrNotAllowed)
			require.NotContains(t, err.Error(), "wrong")
		}
	})
	t.Run("absent", func(t *testing.T) {
		_, err := read("s3://bucket/absent", s3.Options{})
		require.ErrorIs(t, err, fault.ErrNotFound)
	})
	t.Run("not a URL", func(t *testing.T) {
		for _, name := range []string{"s3://", "s3:///k", "bucket/k", "s3://b/../c", "s3://b/a//c"} {
			_, err := s3.Open(t.Context(), name, s3.Options{Endpoint: g.Endpoint})
			require.ErrorIs(t, err, fault.ErrInvalid, name)
		}
	})
}

// TestSettings: where the endpoint, the region, the style and the credentials
// come from. The server notes what it is asked.
func TestSettings(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who := "anonymous"
		if _, rest, ok := strings.Cut(r.Header.Get("Authorization"), "Credential="); ok {
			who = strings.Join(strings.SplitN(strings.Split(rest, ",")[0], "/", 4)[:3:3][0:1], "") + " " + strings.Split(rest, "/")[2]
		}
		if token := r.Header.Get("X-Amz-Security-Token"); token != "" {
			who += " " + token
		}
		host, _, _ := strings.Cut(r.Host, ".127")
		if host == r.Host {
			host = ""
		}
		asked = append(asked, strings.TrimSpace(who+" "+host+r.URL.Path))
		w.Header().Set("ETag", `"x"`)
		w.Write([]byte("x"))
	}))
	t.Cleanup(server.Close)
	for _, tc := range []struct {
		name string
		env  map[string]string
		file string // AWS_CONFIG_FILE
		keys string // AWS_SHARED_CREDENTIALS_FILE
		o    s3.Options
		want string
	}{
		{name: "nothing", env: map[string]string{"AWS_ENDPOINT_URL": server.URL}, want: "anonymous /b/k"},
		{name: "variables", env: map[string]string{
			"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_ENDPOINT_URL_S3": server.URL, "AWS_REGION": "eu-north-1",
			"AWS_ACCESS_KEY_ID": "env", "AWS_SECRET_ACCESS_KEY": "s", "AWS_SESSION_TOKEN": "token",
		}, want: "env eu-north-1 token /b/k"},
		{
			name: "files", keys: "[default]\naws_access_key_id = file\naws_secret_access_key = s\n",
			file: "# ours\n[default]\nregion = eu-west-3\nendpoint_url = " + server.URL + "\n[profile other]\nregion = mars\n", want: "file eu-west-3 /b/k",
		},
		{
			name: "profile", env: map[string]string{"AWS_PROFILE": "other", "AWS_ENDPOINT_URL": server.URL},
			keys: "[default]\naws_access_key_id = file\naws_secret_access_key = s\n[other]\naws_access_key_id = second\naws_secret_access_key = s\n",
			file: "[default]\nregion = eu-west-3\n[profile other]\nregion = mars\n", want: "second mars /b/k",
		},
		{
			name: "nested", keys: "[default]\naws_access_key_id = file\naws_secret_access_key = s\naws_session_token = t\n",
			file: "[default]\nregion = eu-west-3\ns3 =\n  endpoint_url = " + server.URL + "\n\taddressing_style = path\nsqs =\n  endpoint_url = http://127.0.0.1:1\n  region = mars\n",
			want: "file eu-west-3 t /b/k",
		},
		{
			name: "a profile that is asked for", o: s3.Options{Profile: "other"},
			env:  map[string]string{"AWS_ENDPOINT_URL": server.URL, "AWS_REGION": "here", "AWS_ACCESS_KEY_ID": "env", "AWS_SECRET_ACCESS_KEY": "s"},
			keys: "[other]\naws_access_key_id = second\naws_secret_access_key = s\n", want: "second here /b/k",
		},
		{name: "options win", env: map[string]string{
			"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_REGION": "eu-north-1", "AWS_ACCESS_KEY_ID": "env", "AWS_SECRET_ACCESS_KEY": "s",
		}, o: s3.Options{Endpoint: server.URL, Region: "here", AccessKey: "given", SecretKey: "s"}, want: "given here /b/k"},
		{name: "not signed", env: map[string]string{
			"AWS_ENDPOINT_URL": server.URL, "AWS_NO_SIGN_REQUEST": "TRUE", "AWS_ACCESS_KEY_ID": "env", "AWS_SECRET_ACCESS_KEY": "s",
		}, want: "anonymous /b/k"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			alone(t)
			for name, value := range tc.env {
				t.Setenv(name, value)
			}
			require.NoError(t, os.WriteFile(os.Getenv("AWS_CONFIG_FILE"), []byte(tc.file), 0o600))
			require.NoError(t, os.WriteFile(os.Getenv("AWS_SHARED_CREDENTIALS_FILE"), []byte(tc.keys), 0o600))
			asked = nil
			s, err := s3.Open(t.Context(), "s3://b", tc.o)
			require.NoError(t, err)
			defer s.Close()
			_, _, err = storage.ReadAll(t.Context(), s, "k", 10)
			require.NoError(t, err)
			require.Equal(t, []string{tc.want}, asked)
		})
	}
	t.Run("hosts", func(t *testing.T) {
		alone(t)
		for _, tc := range []struct {
			name string
			o    s3.Options
			want string
		}{
			{"s3://b/p", s3.Options{Region: "eu-west-1"}, "https://b.s3.eu-west-1.amazonaws.com/p/k"},
			{"s3://b.c/p", s3.Options{Region: "eu-west-1"}, "https://s3.eu-west-1.amazonaws.com/b.c/p/k"},
			{"s3://b", s3.Options{Region: "cn-north-1"}, "https://b.s3.cn-north-1.amazonaws.com.cn/k"},
			{"s3://b/a b", s3.Options{Endpoint: "store.example:9000"}, "https://store.example:9000/b/a%20b/k"},
			{"s3://b", s3.Options{Endpoint: "http://store.example", VirtualHost: true}, "http://b.store.example/k"},
		} {
			s, err := s3.Open(t.Context(), tc.name, tc.o)
			require.NoError(t, err)
			require.Equal(t, tc.want, s.URL("k"))
		}
		for _, endpoint := range []string{"ftp://x", "http://x/path", "http://", "::"} {
			_, err := s3.Open(t.Context(), "s3://b", s3.Options{Endpoint: endpoint})
			require.ErrorIs(t, err, fault.ErrInvalid, endpoint)
		}
	})
}

// TestRedirectIsNotSigned: credentials stay with the host they are for.
func TestRedirectIsNotSigned(t *testing.T) {
	alone(t)
	var got http.Header
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		http.Error(w, "no", http.StatusNotFound)
	}))
	t.Cleanup(other.Close)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	t.Cleanup(server.Close)
	s, err := s3.Open(t.Context(), "s3://b", s3.Options{Endpoint: server.URL, AccessKey: "a", SecretKey: "s", SessionToken: "token"})
	require.NoError(t, err)
	_, _, err = s.ReadRanges(t.Context(), "k", []storage.Range{{Off: 5, Len: 2}}, "")
	require.ErrorIs(t, err, fault.ErrNotFound)
	require.Equal(t, "bytes=5-6", got.Get("Range"))
	require.Empty(t, got.Get("Authorization"))
	require.Empty(t, got.Get("X-Amz-Security-Token"))
}
