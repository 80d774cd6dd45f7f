package scratch

import (
	"context"
	"sync/atomic"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/storage"
)

// Provider reads images through a scratch. Safe for concurrent use.
type Provider struct {
	s      *ImageScratch
	closed atomic.Bool
}

// ReaderProvider returns a provider of images that are read through a scratch:
// what is held from there, without its file being opened, the rest from the
// files that the scratch was made with, which are kept open. It keeps the
// scratch alive, also after that is closed, until it is closed itself.
// ErrClosed for a scratch that is gone already.
func ReaderProvider(s *ImageScratch) (*Provider, error) {
	if s.closed.Load() {
		return nil, fault.New(fault.ErrClosed, "scratch", s.name, "")
	}
	return newProvider(s)
}

func newProvider(s *ImageScratch) (*Provider, error) {
	if err := s.retain(); err != nil {
		return nil, err
	}
	return &Provider{s: s}, nil
}

// another returns a provider of the same scratch, which need not be open any
// more if this one is.
func (p *Provider) another() (*Provider, error) {
	if p.closed.Load() {
		return nil, fault.New(fault.ErrClosed, "scratch", p.s.name, "")
	}
	return newProvider(p.s)
}

// Scratch returns the scratch that is read through.
func (p *Provider) Scratch() *ImageScratch { return p.s }

// Close ends the provider and its hold on the scratch; readers that it opened
// go on. Closing twice is fine.
func (p *Provider) Close() error {
	if p.closed.Swap(true) {
		return nil
	}
	return p.s.release()
}

// Open is image.ReaderProvider's.
func (p *Provider) Open(ctx context.Context, key string) (image.Reader, error) {
	if p.closed.Load() {
		return nil, fault.New(fault.ErrClosed, "scratch", key, "")
	}
	k := p.s.layout.find(key)
	if k == nil {
		return p.s.sources.kept.Open(ctx, key)
	}
	if err := p.s.retain(); err != nil {
		return nil, err
	}
	return &reader{s: p.s, k: k}, nil
}

// Stat is image.Stater's.
func (p *Provider) Stat(ctx context.Context, key string) (storage.FileInfo, error) {
	return p.s.sources.kept.Stat(ctx, key)
}

// reader reads one file of a scratch. It describes the file as it was when
// the scratch was laid out.
type reader struct {
	s      *ImageScratch
	k      *key
	closed atomic.Bool
}

func (r *reader) Describe() image.Description { return r.k.is }

func (r *reader) ReadImages(ctx context.Context, dst []byte, first int64) error {
	if r.closed.Load() {
		return fault.New(fault.ErrClosed, "scratch", r.k.name, "")
	}
	return r.s.readImages(ctx, r.k, dst, first)
}

func (r *reader) Close() error {
	if r.closed.Swap(true) {
		return nil
	}
	return r.s.release()
}
