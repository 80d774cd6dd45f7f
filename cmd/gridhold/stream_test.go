package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// counted is an array whose elements are their own numbers in C order. It
// remembers the largest region that it was asked for.
type counted struct {
	is      description
	largest int64
}

func (c *counted) shape() *description { return &c.is }
func (c *counted) Close() error        { return nil }

func (c *counted) subchunk(context.Context, []int64) ([]byte, error)        { return nil, nil }
func (c *counted) encodedSubchunk(context.Context, []int64) ([]byte, error) { return nil, nil }

func (c *counted) copyOfRegion(ctx context.Context, start, stop []int64) ([]byte, error) {
	return c.region(ctx, start, stop)
}

func (c *counted) region(_ context.Context, start, stop []int64) ([]byte, error) {
	b := c.elements(nil, 0, start, stop, c.is.Shape)
	c.largest = max(c.largest, int64(len(b)))
	return b, nil
}

func (c *counted) elements(dst []byte, at int64, start, stop, shape []int64) []byte {
	if len(shape) == 0 {
		return binary.LittleEndian.AppendUint32(dst, uint32(at))
	}
	for i := start[0]; i < stop[0]; i++ {
		dst = c.elements(dst, at*shape[0]+i, start[1:], stop[1:], shape[1:])
	}
	return dst
}

// However small the slab, the same elements come out, and no more than fit
// are asked for at once.
func TestStream(t *testing.T) {
	for _, tc := range []struct{ shape, edge, start, stop []int64 }{
		{[]int64{}, []int64{}, []int64{}, []int64{}},
		{[]int64{0}, []int64{4}, []int64{0}, []int64{0}},
		{[]int64{100}, []int64{7}, []int64{3}, []int64{98}},
		{[]int64{20, 15}, []int64{4, 4}, []int64{0, 0}, []int64{20, 15}},
		{[]int64{20, 15}, []int64{4, 4}, []int64{3, 2}, []int64{19, 13}},
		{[]int64{20, 15}, []int64{4, 4}, []int64{3, 2}, []int64{3, 13}},
		{[]int64{1, 9, 8}, []int64{1, 2, 5}, []int64{0, 0, 0}, []int64{1, 9, 8}},
		{[]int64{5, 6, 7}, []int64{5, 3, 2}, []int64{1, 0, 1}, []int64{5, 6, 6}},
	} {
		for _, slab := range []int64{4, 12, 100, 333, 1 << 20} {
			t.Run(fmt.Sprint(tc.shape, tc.start, tc.stop, slab), func(t *testing.T) {
				a := &counted{is: description{Shape: tc.shape, SubchunkShape: tc.edge, ItemSize: 4}}
				var got bytes.Buffer
				require.NoError(t, stream(t.Context(), a, &got, tc.start, tc.stop, slab))
				require.Equal(t, a.elements(nil, 0, tc.start, tc.stop, tc.shape), append([]byte(nil), got.Bytes()...))
				require.LessOrEqual(t, a.largest, slab)
			})
		}
	}
}

func TestVolumeDoesNotOverflow(t *testing.T) {
	require.EqualValues(t, 1<<63-1, volume(8, []int64{1 << 40, 1 << 40}))
	require.EqualValues(t, 0, volume(8, []int64{1 << 40, 0}))
	require.EqualValues(t, 8, volume(8, nil))
}
