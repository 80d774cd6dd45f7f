package server

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"strconv"
	"time"

	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/fault"
)

const (
	pace     = 50 * time.Millisecond // between two changes that are told of; what happens meanwhile is one
	patience = 3                     // failed looks in a row before a stream ends; each is patient by itself
)

// Change is what the stream of a container tells of, in JSON: its state, and
// each one that it is found in from then on.
type Change struct {
	Tick   uint64  `json:"tick"` // counts the changes of this stream
	Shape  []int64 `json:"shape,omitempty"`
	Chunks int64   `json:"chunks"`
	Bytes  int64   `json:"bytes"` // unpacked, chunks filled up
}

// events answers with server-sent events: "change" with a Change, "failure"
// with a fault.Detail, after which the stream ends.
func (h *Handler) events(w http.ResponseWriter, r *http.Request, key string) {
	if h.o.Files == nil {
		fail(w, fault.New(fault.ErrUnsupported, "watch", key, "there are no files to follow"))
		return
	}
	select {
	case h.watchers <- struct{}{}:
		defer func() { <-h.watchers }()
	default:
		w.Header().Set("Retry-After", "5")
		http.Error(w, strconv.Itoa(h.o.Watchers)+" containers are followed already", http.StatusServiceUnavailable)
		return
	}
	c, err := blosc2.Open(r.Context(), h.o.Files, key, h.o.Open)
	if err != nil {
		fail(w, err)
		return
	}
	defer c.Close() // opened for reading: nothing to lose
	watched, ok := c.(interface {
		Watch(context.Context) iter.Seq2[blosc2.Change, error]
	})
	if !ok {
		fail(w, fault.New(fault.ErrUnsupported, "watch", key, "a "+c.Kind()+" is not followed"))
		return
	}
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	if r.Method == http.MethodHead {
		return
	}
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	s := &stream{w: h.steady(w), changes: make(chan blosc2.Change), ended: make(chan error, 1)}
	go func() { s.ended <- s.follow(ctx, watched.Watch(ctx)) }()
	s.tell(ctx, h.closing, h.o.Beat)
	stop()
	for { // the container is closed after its reader has ended, not under it
		select {
		case <-s.changes:
		case <-s.ended:
			return
		}
	}
}

// stream is a connection that hears of a container.
type stream struct {
	w       *steady
	changes chan blosc2.Change
	ended   chan error // why there are no more changes
}

// follow passes on what changes. The container is looked at again when the
// last change has gone out, so that a slow client hears of the newest.
func (s *stream) follow(ctx context.Context, changes iter.Seq2[blosc2.Change, error]) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.Recovered(p)
		}
	}()
	failures := 0
	for c, err := range changes {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			if failures++; failures == patience {
				return err
			}
			continue // a writer may be half-way
		}
		failures = 0
		select {
		case s.changes <- c:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return ctx.Err()
}

// tell writes to the client until it goes, the server closes, or nothing more
// comes.
func (s *stream) tell(ctx context.Context, closing <-chan struct{}, beat time.Duration) {
	if s.send("", "retry: 1000\n\n") != nil {
		return
	}
	alive := time.NewTicker(beat)
	defer alive.Stop()
	for {
		var err error
		select {
		case c := <-s.changes:
			err = s.send("change", Change{c.Tick, c.Shape, c.Chunks, c.Header.Size})
			if err == nil {
				err = rest(ctx, closing)
			}
		case <-alive.C:
			err = s.send("", ": still here\n\n")
		case why := <-s.ended:
			s.ended <- why // for who waits for the end
			if why != nil {
				_ = s.send("failure", fault.DetailOf(why))
			}
			return
		case <-closing:
			return
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// rest waits for a moment.
func rest(ctx context.Context, closing <-chan struct{}) error {
	t := time.NewTimer(pace)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-closing:
		return errors.New("closing")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// send writes an event, or text as it is.
func (s *stream) send(event string, data any) error {
	text, ok := data.(string)
	if !ok {
		b, err := json.Marshal(data)
		if err != nil {
			return err
		}
		text = "event: " + event + "\ndata: " + string(b) + "\n\n"
	}
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.w.control.Flush()
}
