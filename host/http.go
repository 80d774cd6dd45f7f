package host

import (
	"github.com/gridhold/gridhold/sdk/storage"
)

// HTTPOptions are those of Sandbox.HTTP.
type HTTPOptions struct {
	ForbiddenIsMissing bool // 403 means that there is no object
	NoSuffix           bool // never ask for the last bytes of an object of unknown size

	// These are as in [storage.HTTPOptions].
	Gap       int64
	MaxMerged int64
	Parallel  int // at most 1024
}

// HTTP is a store of which the guest itself speaks HTTP, through
// Config.Fetcher. Used outside the sandbox it is the same store natively.
type HTTP struct {
	*storage.HTTP
	url string
	o   HTTPOptions
}

// HTTP makes a store of the objects under a URL.
func (s *Sandbox) HTTP(url string, o HTTPOptions) *HTTP {
	native := storage.NewHTTP(s.config.Fetcher, url, storage.HTTPOptions{
		ForbiddenIsMissing: o.ForbiddenIsMissing, NoSuffix: o.NoSuffix, Gap: o.Gap, MaxMerged: o.MaxMerged, Parallel: o.Parallel,
	})
	return &HTTP{native, url, o}
}
