// Package soak holds what serves to clients that mean well and clients that do
// not: "gridhold serve", and the service of examples/service, each in a process
// of its own on loopback. Good clients get what they ask for, all of it, while
// others are slow, go away, or send what is no request; memory and descriptors
// stay as they were; and SIGTERM ends it with what is in flight.
//
// It has tests only. "make soak TIME=10m" runs them for long.
package soak
