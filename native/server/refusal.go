package server

import (
	"errors"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// refuse answers a request for an object with the status that its error is.
func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, key string, err error) {
	if storage.Ended(r.Context(), key) != nil {
		panic(http.ErrAbortHandler) // nobody listens
	}
	if errors.Is(err, fault.ErrIO) {
		// A directory is no object, nor is a pipe; only what is one can fail.
		isObject, isPrefix, listed := h.look(r, key)
		if isPrefix && h.page != nil && wantsPage(r) {
			target := *r.URL
			target.Path, target.RawPath = target.Path+"/", ""
			http.Redirect(w, r, target.RequestURI(), http.StatusFound)
			return
		}
		if listed && !isObject {
			err = storage.Absent(key)
		}
	}
	fail(w, err)
}

// look asks the store for what has a name: an object, or others below it.
func (h *Handler) look(r *http.Request, key string) (isObject, isPrefix, listed bool) {
	l, ok := h.store.(storage.Lister)
	if !ok {
		return false, false, false
	}
	dir, name := path.Split(key)
	names, err := l.List(r.Context(), dir)
	if err != nil {
		return false, false, false
	}
	return slices.Contains(names, name), slices.Contains(names, name+"/"), true
}

// statuses of errors; of others 500.
var statuses = map[fault.Code]int{
	fault.CodeNotFound:    http.StatusNotFound,
	fault.CodeNotAllowed:  http.StatusForbidden,
	fault.CodeInvalid:     http.StatusBadRequest,
	fault.CodeStale:       http.StatusServiceUnavailable, // it goes on changing: try again
	fault.CodeClosed:      http.StatusServiceUnavailable,
	fault.CodeLocked:      http.StatusServiceUnavailable,
	fault.CodeLockTimeout: http.StatusServiceUnavailable,
	fault.CodeUnsupported: http.StatusNotImplemented,
	fault.CodeCorrupt:     http.StatusUnprocessableEntity,
}

// fail answers with an error, in one line.
func fail(w http.ResponseWriter, err error) {
	status, ok := statuses[fault.CodeOf(err)]
	if !ok {
		status = http.StatusInternalServerError
	}
	for _, field := range []string{"Cache-Control", "ETag"} {
		w.Header().Del(field)
	}
	http.Error(w, strings.ToValidUTF8(err.Error(), "\ufffd"), status)
}
