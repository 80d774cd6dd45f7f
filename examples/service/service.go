package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gridhold/gridhold/host"
	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

const (
	largestUpload = 64 << 20
	mostOpen      = 256 // arrays that are kept open
)

// service is the handler:
//
//	POST /arrays                    an archive; answers its name
//	GET  /arrays/NAME               the description of the array
//	GET  /arrays/NAME/0.3           the elements of a subchunk, little endian
//	GET  /stats                     what the sandboxes have done
type service struct {
	http.ServeMux
	store *file.Store
	box   *host.Sandbox

	mu   sync.Mutex
	open map[string]*opened
}

// opened is an array that is kept open, with its index cache.
type opened struct {
	array *host.Array
	cache *host.ShardCache
	users int  // requests that read from it now
	old   bool // to be closed by the last of them
}

func newService(ctx context.Context, dir string, instances int) (*service, error) {
	store, err := file.Open(dir, file.Options{})
	if err != nil {
		return nil, err
	}
	box, err := host.New(ctx, host.Config{
		Instances:    instances,
		Memory:       128 << 20,
		CompileCache: host.UserCompileCache(),
		Limits:       host.Limits{Deadline: 5 * time.Second, Read: 256 << 20, Output: 32 << 20, Objects: 2 * mostOpen},
	})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	s := &service{store: store, box: box, open: map[string]*opened{}}
	s.HandleFunc("POST /arrays", s.upload)
	s.HandleFunc("GET /arrays/{name}", s.describe)
	s.HandleFunc("GET /arrays/{name}/{at}", s.subchunk)
	s.HandleFunc("GET /stats", func(w http.ResponseWriter, _ *http.Request) { answer(w, box.Stats()) })
	return s, nil
}

// Close ends the sandboxes, after the calls that are under way.
func (s *service) Close() error { return errors.Join(s.box.Close(), s.store.Close()) }

// upload keeps an archive under the name of its content, if it is an array.
func (s *service) upload(w http.ResponseWriter, r *http.Request) {
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, largestUpload))
	if err != nil {
		fail(w, fault.New(fault.ErrLimit, "upload", "", err.Error()))
		return
	}
	sum := sha256.Sum256(b)
	name := hex.EncodeToString(sum[:16])
	_, err = s.store.Put(r.Context(), name+".zip", b, storage.Condition{})
	if err == nil {
		err = s.with(r.Context(), name, func(*opened) error { return nil })
	}
	if err != nil {
		fail(w, err)
		return
	}
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintln(w, name)
}

func (s *service) describe(w http.ResponseWriter, r *http.Request) {
	err := s.with(r.Context(), r.PathValue("name"), func(o *opened) error {
		answer(w, o.array.Describe())
		return nil
	})
	if err != nil {
		fail(w, err)
	}
}

func (s *service) subchunk(w http.ResponseWriter, r *http.Request) {
	var at []int64
	for part := range strings.SplitSeq(r.PathValue("at"), ".") {
		i, err := strconv.ParseInt(part, 10, 64)
		if err != nil {
			fail(w, fault.New(fault.ErrInvalid, "subchunk", r.PathValue("at"), "not numbers with dots between them"))
			return
		}
		at = append(at, i)
	}
	err := s.with(r.Context(), r.PathValue("name"), func(o *opened) error {
		b, err := o.array.RetrieveSubchunk(r.Context(), at, host.ReadOptions{Cache: o.cache})
		if err == nil {
			w.Header().Set("Content-Type", "application/octet-stream")
			w.Header().Set("Content-Length", strconv.Itoa(len(b)))
			_, _ = w.Write(b)
		}
		return err
	})
	if err != nil {
		fail(w, err)
	}
}

// with calls do with an array, which stays open for those who come after.
func (s *service) with(ctx context.Context, name string, do func(*opened) error) error {
	o, err := s.get(ctx, name)
	if err != nil {
		return err
	}
	defer s.leave(o)
	return do(o)
}

func (s *service) get(ctx context.Context, name string) (*opened, error) {
	s.mu.Lock()
	o := s.open[name]
	if o != nil {
		o.users++
	}
	s.mu.Unlock()
	if o != nil {
		return o, nil
	}
	if _, err := hex.DecodeString(name); err != nil || len(name) != 32 {
		return nil, fault.New(fault.ErrNotFound, "array", name, "")
	}
	var first [1]byte
	if _, _, err := s.store.ReadInto(ctx, name+".zip", 0, first[:], ""); err != nil {
		return nil, err
	}
	array, err := s.box.OpenArray(ctx, host.NewZip(s.store, name+".zip"), "", host.OpenOptions{})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if other := s.open[name]; other != nil { // somebody was quicker
		other.users++
		return other, array.Close()
	}
	o = &opened{array: array, cache: array.ShardCache(host.CacheOptions{Budget: 1 << 20}), users: 1}
	for old, x := range s.open { // any one will do
		if len(s.open) < mostOpen {
			break
		}
		delete(s.open, old)
		if x.old = true; x.users == 0 {
			_ = x.array.Close()
		}
	}
	s.open[name] = o
	return o, nil
}

func (s *service) leave(o *opened) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.users--; o.users == 0 && o.old {
		_ = o.array.Close()
	}
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// fail says what was wrong, in one line.
func fail(w http.ResponseWriter, err error) {
	status := http.StatusUnprocessableEntity // the upload is no good
	for kind, code := range map[error]int{
		fault.ErrNotFound: http.StatusNotFound, fault.ErrOutOfRange: http.StatusNotFound, fault.ErrInvalid: http.StatusBadRequest,
		fault.ErrLimit: http.StatusRequestEntityTooLarge, fault.ErrCancelled: http.StatusServiceUnavailable,
		fault.ErrIO: http.StatusInternalServerError, fault.ErrInternal: http.StatusInternalServerError,
	} {
		if errors.Is(err, kind) {
			status = code
		}
	}
	http.Error(w, err.Error(), status)
}
