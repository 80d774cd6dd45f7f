package xz

import (
	peer "crypto/sha256"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSHA256(t *testing.T) {
	data := make([]byte, 1000)
	for i := range data {
		data[i] = byte(i * i >> 3)
	}
	for n := range data {
		require.Equal(t, peer.Sum256(data[:n]), sha256(data[:n]), "%d bytes", n)
	}
}
