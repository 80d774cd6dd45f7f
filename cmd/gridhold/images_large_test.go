package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/internal/golden"
	"github.com/gridhold/gridhold/sdk/image"
)

// An image beyond all memory, which a file of nothing may claim to hold, is an
// error and not the end of the program.
func TestImageTooLarge(t *testing.T) {
	head := make([]byte, 1024)
	for i, n := range []uint32{1 << 17, 1 << 17, 1, 0} {
		binary.LittleEndian.PutUint32(head[4*i:], n)
	}
	copy(head[64:], "\x01\x00\x00\x00\x02\x00\x00\x00\x03\x00\x00\x00")
	copy(head[208:], "MAP DD")
	name := filepath.Join(t.TempDir(), "huge.mrc")
	require.NoError(t, os.WriteFile(name, head, 0o666))
	require.NoError(t, os.Truncate(name, 1024+1<<34))
	for _, args := range [][]string{{"read", name}, {"read", "--image", "0", name}, {"read", "--region", "0:1,0:1", name}, {"verify", name}} {
		status, _, errs := here(t, args...)
		require.Equal(t, 1, status, errs)
		require.Contains(t, errs, "over a limit")
	}
	status, out, errs := here(t, "info", name)
	require.Equal(t, 0, status, errs)
	require.Contains(t, string(out), "[131072,131072]")
}

// countedImage is a stack that counts how often it is read.
type countedImage struct{ reads int }

func (c *countedImage) Close() error { return nil }
func (c *countedImage) Describe() image.Description {
	return image.Description{Type: image.Uint8, Shape: []int64{3, 64, 64}, CoreRank: 2, Count: 3, ImageShape: []int64{64, 64}}
}
func (c *countedImage) ReadImages(_ context.Context, dst []byte, first int64) error {
	c.reads++
	for i := range dst {
		dst[i] = byte(i/64) + byte(first)
	}
	return nil
}

// Images that are written out in parts are read once each.
func TestImagesInParts(t *testing.T) {
	for _, l := range []image.ImageLocation{{Key: "x", Index: 1}, {Key: "x", Index: image.WholeFile}} {
		c := &countedImage{}
		p := &pictures{Reader: c}
		var err error
		p.is, err = describePictures(c.Describe(), l)
		require.NoError(t, err)
		var got, want bytes.Buffer
		stop := p.is.Shape
		require.NoError(t, stream(t.Context(), p, &got, make([]int64, len(stop)), stop, 256))
		images := int64(1)
		if l.IsWhole() {
			images = 3
		}
		for i := range images {
			one := make([]byte, 64*64)
			require.NoError(t, (&countedImage{}).ReadImages(t.Context(), one, p.is.first+i))
			want.Write(one)
		}
		require.Equal(t, want.Bytes(), got.Bytes())
		require.Equal(t, int(images), c.reads)
	}
}

// A scratch is never put in the place of what it is to hold.
func TestScratchSparesImages(t *testing.T) {
	dir, _, err := golden.LoadImages()
	require.NoError(t, err)
	b, err := os.ReadFile(filepath.Join(dir, "odd_f32_5x17x13.mrcs"))
	require.NoError(t, err)
	here := t.TempDir()
	stack, table, link := filepath.Join(here, "a b.mrcs"), filepath.Join(here, "ü.star"), filepath.Join(here, "link.mrcs")
	text := []byte("data_\nloop_\n_rlnImageName\n\"1@a b.mrcs\"\n")
	require.NoError(t, os.WriteFile(stack, b, 0o666))
	require.NoError(t, os.WriteFile(table, text, 0o666))
	require.NoError(t, os.Symlink(stack, link))
	for _, tc := range []struct {
		status int
		args   []string
	}{
		{2, []string{stack, stack}}, {2, []string{link, stack}}, {2, []string{stack, link}}, {2, []string{table, table}},
		{1, []string{stack, table}}, {1, []string{link, table}},
	} {
		r := gridhold(t, append([]string{"scratch", "fill", "--overwrite"}, tc.args...)...)
		r.fails(t, tc.status)
	}
	left, err := os.ReadFile(stack)
	require.NoError(t, err)
	require.Equal(t, b, left)
	left, err = os.ReadFile(table)
	require.NoError(t, err)
	require.Equal(t, text, left)
}
