package server

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// Listing is what is directly below a prefix, as it is sent in JSON.
type Listing struct {
	Path  string   `json:"path"`  // the prefix: "" or ending in "/"
	Names []string `json:"names"` // sorted; those that have others below end in "/"
}

// list answers GET and HEAD of a prefix.
func (h *Handler) list(w http.ResponseWriter, r *http.Request, prefix string) {
	w.Header().Set("Vary", "Accept")
	w.Header().Set("Cache-Control", "no-cache")
	if h.page != nil && wantsPage(r) {
		http.Redirect(w, r, "/"+Reserved+"/#/"+strings.TrimPrefix(r.URL.EscapedPath(), "/"), http.StatusFound)
		return
	}
	l, ok := h.store.(storage.Lister)
	if !ok {
		fail(w, fault.New(fault.ErrUnsupported, "http", prefix, "the store does not list"))
		return
	}
	names, err := l.List(r.Context(), prefix)
	if err == nil && len(names) == 0 && prefix != "" {
		if _, isPrefix, listed := h.look(r, strings.TrimSuffix(prefix, "/")); listed && !isPrefix {
			err = storage.Absent(prefix)
		}
	}
	if err != nil {
		fail(w, err)
		return
	}
	if prefix == "" {
		names = slices.DeleteFunc(names, func(name string) bool { return strings.TrimSuffix(name, "/") == Reserved })
	}
	text, err := json.Marshal(Listing{prefix, append([]string{}, names...)})
	if err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = h.steady(w).Write(text) // who does not read it has gone
}
