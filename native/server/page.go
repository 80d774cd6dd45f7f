package server

import (
	"bytes"
	"net/http"
	"path"
	"strings"
	"time"
)

// asset is a file of the page.
type asset struct {
	data []byte
	tag  string
	kind string
}

// kinds of what a page is made of, by the end of the name. Not the system's
// list, which a machine may lack or have wrong.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".wasm": "application/wasm",
	".svg":  "image/svg+xml",
	".json": "application/json",
}

func assets(files map[string][]byte) map[string]asset {
	if files == nil {
		return nil
	}
	page := make(map[string]asset, len(files))
	for name, data := range files {
		kind := kinds[path.Ext(name)]
		if kind == "" {
			kind = "application/octet-stream"
		}
		page[name] = asset{data, digest(data), kind}
	}
	return page
}

// policy of the page: nothing of elsewhere.
const policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' blob: data:; " +
	"connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// servePage answers GET and HEAD below Reserved; name begins with "/" or is
// "".
func (h *Handler) servePage(w http.ResponseWriter, r *http.Request, name string) {
	if name == "" {
		http.Redirect(w, r, "/"+Reserved+"/", http.StatusMovedPermanently)
		return
	}
	if name = strings.TrimPrefix(name, "/"); name == "" {
		name = "index.html"
	}
	a, ok := h.page[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	header := w.Header()
	header.Set("Content-Type", a.kind)
	header.Set("ETag", a.tag)
	header.Set("Cache-Control", "no-cache")
	header.Set("Content-Security-Policy", policy)
	header.Set("Referrer-Policy", "no-referrer")
	http.ServeContent(h.steady(w), r, "", time.Time{}, bytes.NewReader(a.data))
}
