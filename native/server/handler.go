package server

import (
	"crypto/sha256"
	"encoding/base64"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/storage"
)

// Reserved begins the path of what is not an object: the page. Objects whose
// first name it is are not served.
const Reserved = ".gridhold"

// Options of a Handler. The zero value is the advice.
type Options struct {
	// AllowOrigin is the origin whose pages may read: "" or "*" any,
	// "none" the server's own only.
	AllowOrigin string
	// Hosts are the names that the server goes by, beside localhost and
	// numeric addresses: a request for another name is refused. Without them
	// a page elsewhere whose name is made to lead here would be of the
	// server's own origin. nil: any name, as AllowOrigin "*" has it anyway.
	Hosts []string
	// Files are the same objects as files that others write to: what changes
	// in their containers can be followed. nil: nothing is.
	Files    storage.FS
	Open     blosc2.Options // how a container that is followed is opened, without Write
	Watchers int            // containers followed at once, by all clients; 0: 64
	// Page is served below "/.gridhold/", by name; "index.html" is what
	// browsers are led to that ask for a prefix. nil: there is none.
	Page map[string][]byte
	// Stall is how long a client may take no bytes of an answer before the
	// connection is given up; 0: a minute.
	Stall time.Duration
	// Beat is how often a stream says that it lives while nothing changes; 0: 15 s.
	Beat time.Duration
}

// Handler serves the objects of a store. Safe for concurrent use.
type Handler struct {
	store    storage.Store
	o        Options
	page     map[string]asset
	watchers chan struct{} // a place for each
	closing  chan struct{}
	close    sync.Once
}

// New returns a handler of a store, which stays the caller's to close.
func New(store storage.Store, o Options) *Handler {
	if o.AllowOrigin == "" {
		o.AllowOrigin = "*"
	}
	if o.Watchers <= 0 {
		o.Watchers = 64
	}
	if o.Stall <= 0 {
		o.Stall = time.Minute
	}
	if o.Beat <= 0 {
		o.Beat = 15 * time.Second
	}
	o.Open.Write = false
	return &Handler{
		store: store, o: o, page: assets(o.Page),
		watchers: make(chan struct{}, o.Watchers), closing: make(chan struct{}),
	}
}

// Close ends the streams of events, and those that are asked for later. The
// rest goes on. Twice is fine.
func (h *Handler) Close() { h.close.Do(func() { close(h.closing) }) }

// ServeHTTP is http.Handler's.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.shareWithPages(w.Header(), r)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if !h.goesBy(r.Host) {
		http.Error(w, "this server does not go by that name", http.StatusMisdirectedRequest)
		return
	}
	if r.ContentLength != 0 {
		// Nothing here takes a body. Whoever announces one and does not send
		// it would keep the connection for ever.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime))
		w.Header().Set("Connection", "close")
		http.Error(w, "no body is taken", http.StatusBadRequest)
		return
	}
	key := strings.TrimPrefix(r.URL.Path, "/")
	name, ours := strings.CutPrefix(key, Reserved)
	ours = ours && (name == "" || name[0] == '/')
	switch {
	case r.Method == http.MethodOptions:
		w.Header().Set("Allow", methods)
		w.WriteHeader(http.StatusNoContent)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", methods)
		http.Error(w, "objects are read only", http.StatusMethodNotAllowed)
	case ours:
		h.servePage(w, r, name)
	case r.URL.Query().Has("events"):
		h.events(w, r, strings.TrimSuffix(key, "/"))
	case key == "" || strings.HasSuffix(key, "/"):
		h.list(w, r, key)
	default:
		h.object(w, r, key)
	}
}

const (
	methods  = "GET, HEAD, OPTIONS"
	bodyTime = 5 * time.Second
)

// shareWithPages says what pages of other origins may do. What is asked for
// beforehand is granted for a day, so that a page asks once.
func (h *Handler) shareWithPages(header http.Header, r *http.Request) {
	if h.o.AllowOrigin == "none" {
		return
	}
	header.Set("Access-Control-Allow-Origin", h.o.AllowOrigin)
	header.Set("Access-Control-Expose-Headers", "Accept-Ranges, Content-Encoding, Content-Length, Content-Range, ETag")
	header.Set("Cross-Origin-Resource-Policy", "cross-origin")
	header.Set("Timing-Allow-Origin", h.o.AllowOrigin)
	if r.Method != http.MethodOptions {
		return
	}
	header.Set("Access-Control-Allow-Methods", methods)
	header.Set("Access-Control-Allow-Headers", "Range, If-Match, If-None-Match, If-Range, Cache-Control, *")
	header.Set("Access-Control-Max-Age", "86400")
	if r.Header.Get("Access-Control-Request-Private-Network") == "true" {
		header.Set("Access-Control-Allow-Private-Network", "true")
	}
}

// goesBy reports whether a Host field names this server.
func (h *Handler) goesBy(host string) bool {
	if h.o.Hosts == nil {
		return true
	}
	name := host
	if only, _, err := net.SplitHostPort(host); err == nil {
		name = only
	}
	if _, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		return true
	}
	return strings.EqualFold(name, "localhost") || slices.ContainsFunc(h.o.Hosts, func(ours string) bool { return strings.EqualFold(name, ours) })
}

// tag is the strong ETag of a version; "" of none. A digest, because versions
// tell of inodes and may be of any length.
func tag(v storage.Version) string {
	if v == "" {
		return ""
	}
	return digest([]byte(v))
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:15]) + `"`
}

// wantsPage reports whether somebody looks at an answer in a browser.
func wantsPage(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), "text/html") }
