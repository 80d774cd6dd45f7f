package image_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
)

func TestParseLocation(t *testing.T) {
	for _, tc := range []struct {
		text string
		want image.ImageLocation // zero: ErrInvalid
	}{
		{"000001@f", image.ImageLocation{Key: "f"}},
		{"1@f", image.ImageLocation{Key: "f"}},
		{"0000000000000000000000012@f", image.ImageLocation{Key: "f", Index: 11}},
		{"1@2@x", image.ImageLocation{Key: "2@x"}},
		{"1@dir@x/f.mrcs", image.ImageLocation{Key: "dir@x/f.mrcs"}},
		{"3@a path with spaces", image.ImageLocation{Key: "a path with spaces", Index: 2}},
		{"9223372036854775807@f", image.ImageLocation{Key: "f", Index: 1<<63 - 2}},
		{"f", image.ImageLocation{Key: "f", Index: image.WholeFile}},
		{"./f", image.ImageLocation{Key: "./f", Index: image.WholeFile}},
		{text: "0@f"}, {text: "000@f"}, {text: "-1@f"}, {text: "+1@f"}, {text: " 1@f"}, {text: "a@f"}, {text: "1.5@f"},
		{text: "@f"}, {text: "@"}, {text: "1@"}, {text: ""}, {text: "9223372036854775808@f"}, {text: "9999999999999999999999@f"},
	} {
		t.Run(tc.text, func(t *testing.T) {
			got, err := image.ParseLocation(tc.text)
			if tc.want.Key == "" {
				require.ErrorIs(t, err, fault.ErrInvalid)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.want, got)
			again, err := image.ParseLocation(got.String())
			require.NoError(t, err)
			require.Equal(t, got, again)
		})
	}
}

func TestGroupLocations(t *testing.T) {
	keys := []string{"10", "9", "B", "a", "a b", "a.b", "a/b", "é"} // in order of their bytes
	var all []image.ImageLocation
	for _, k := range keys {
		all = append(all, image.ImageLocation{Key: k, Index: 2}, image.ImageLocation{Key: k, Index: 0}, image.ImageLocation{Key: k, Index: 2})
	}
	all = append(all, image.ImageLocation{Key: "B", Index: image.WholeFile})
	r := rand.New(rand.NewPCG(1, 2))
	for range 5 {
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		g, err := image.GroupLocations(slices.Values(all))
		require.NoError(t, err)
		require.Equal(t, len(keys), g.Len())
		require.Equal(t, int64(2*len(keys)-1), g.Count())
		for i, k := range keys {
			want := image.LocationGroup{Key: k, Indices: []int64{0, 2}}
			if k == "B" {
				want = image.LocationGroup{Key: k, IsWhole: true}
			}
			require.Equal(t, want, g.Group(i))
			at, ok := g.Find(k)
			require.True(t, ok)
			require.Equal(t, i, at)
		}
		flat := slices.Collect(g.All())
		require.True(t, slices.IsSortedFunc(flat, image.ImageLocation.Compare))
		require.Len(t, flat, int(g.Count()))
	}
	require.Negative(t, image.ImageLocation{Key: "a", Index: 1 << 62}.Compare(image.ImageLocation{Key: "a", Index: image.WholeFile}))
	_, err := image.GroupLocations(slices.Values([]image.ImageLocation{{Key: "a", Index: -2}}))
	require.ErrorIs(t, err, fault.ErrInvalid)
}
