// Package storagetest holds one suite for each port of package storage, which
// every adapter runs, and stores that count, wait, fail and lie, for tests of
// what stands on a Store.
//
//	func TestStore(t *testing.T) {
//		storagetest.Store(t, func(t *testing.T, objects map[string][]byte) storage.Store {
//			m := storage.NewMemory()
//			for key, data := range objects {
//				m.Set(key, data)
//			}
//			return m
//		})
//	}
package storagetest

import (
	"bytes"
	"errors"
	"testing"
)

// Pattern returns n bytes that differ from their neighbours and, with another
// seed, from the same place of another pattern: a read that is one byte off,
// or of another object, never looks right.
func Pattern(n int, seed byte) []byte {
	b := make([]byte, n)
	x := uint32(seed)*2654435761 + 1
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return b
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("unexpected error: %v", err)
	}
}

func isError(t *testing.T, err, kind error) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Fatalf("error %v, want %v", err, kind)
	}
}

func equalBytes(t *testing.T, got, want []byte) {
	t.Helper()
	if !bytes.Equal(got, want) {
		t.Fatalf("%d bytes %.20x…, want %d bytes %.20x…", len(got), got, len(want), want)
	}
}
