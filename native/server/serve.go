package server

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"
)

// Limits of what clients may take. The zero value is the advice.
type Limits struct {
	Connections int           // at once; others wait to be accepted; 0: 256
	Header      time.Duration // for the header of a request; 0: 10 s
	Idle        time.Duration // between two requests; 0: 2 minutes
	Grace       time.Duration // for requests in flight when the server ends; 0: 10 s
}

const (
	maxHeader  = 64 << 10 // bytes
	maxStreams = 128      // requests at once on one HTTP/2 connection
)

// Serve answers who connects to l, in HTTP/1.1 and in HTTP/2 without
// encryption (prior knowledge), until ctx ends. Then it takes no more
// requests, ends streams of events, and returns when those in flight have been
// answered, or nil after Limits.Grace without them: they are cut. It closes l
// and h. An error is one of l.
func Serve(ctx context.Context, l net.Listener, h *Handler, o Limits) error {
	orElse := func(d *time.Duration, zero time.Duration) {
		if *d <= 0 {
			*d = zero
		}
	}
	orElse(&o.Header, 10*time.Second)
	orElse(&o.Idle, 2*time.Minute)
	orElse(&o.Grace, 10*time.Second)
	if o.Connections <= 0 {
		o.Connections = 256
	}
	var p http.Protocols
	p.SetHTTP1(true)
	p.SetUnencryptedHTTP2(true)
	s := &http.Server{
		Handler:           h,
		Protocols:         &p,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		ReadHeaderTimeout: o.Header,
		IdleTimeout:       o.Idle,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          log.New(io.Discard, "", 0), // what clients do wrong is theirs to know
	}
	s.RegisterOnShutdown(h.Close)
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(limit(l, o.Connections)) }()
	select {
	case err := <-ended:
		h.Close()
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.Grace)
	defer cancel()
	err := s.Shutdown(grace)
	<-ended
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.Close()
	}
	return err
}

// limited accepts a connection when there is room.
type limited struct {
	net.Listener
	room   chan struct{}
	closed chan struct{}
	close  sync.Once
}

func limit(l net.Listener, n int) *limited {
	return &limited{Listener: l, room: make(chan struct{}, n), closed: make(chan struct{})}
}

// Accept is net.Listener's.
func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.room <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.room
		return nil, err
	}
	return &counted{Conn: c, leave: sync.OnceFunc(func() { <-l.room })}, nil
}

// Close is net.Listener's.
func (l *limited) Close() error {
	l.close.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// counted is a connection that makes room when it ends.
type counted struct {
	net.Conn
	leave func()
}

// Close is net.Conn's.
func (c *counted) Close() error {
	err := c.Conn.Close()
	c.leave()
	return err
}
