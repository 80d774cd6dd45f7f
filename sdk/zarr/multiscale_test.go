package zarr_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
)

func pyramid(t *testing.T, attributes string) ([]zarr.Multiscale, error) {
	g, err := zarr.CreateGroup(t.Context(), storage.NewMemory(), "", json.RawMessage(attributes), zarr.Options{})
	require.NoError(t, err)
	return g.Multiscales()
}

const levels = `"axes":[{"name":"c","type":"channel"},{"name":"y","type":"space","unit":"micrometer"},{"name":"x","type":"space"}],
	"datasets":[{"path":"0","coordinateTransformations":[{"type":"scale","scale":[1,0.5,0.5]}]},
	{"path":"1","coordinateTransformations":[{"type":"scale","scale":[1,1,1]},{"type":"translation","translation":[0,0.25,0.25]}]}],
	"coordinateTransformations":[{"type":"scale","scale":[1,2,2]}]`

func TestMultiscales(t *testing.T) {
	for _, attributes := range []string{
		`{"ome":{"version":"0.5","multiscales":[{"name":"im",` + levels + `}]}}`,
		`{"multiscales":[{"name":"im","version":"0.4",` + levels + `}]}`,
	} {
		ms, err := pyramid(t, attributes)
		require.NoError(t, err)
		require.Len(t, ms, 1)
		m := ms[0]
		require.Equal(t, "im", m.Name)
		require.Equal(t, []float64{1, 1, 1}, m.Levels[0].Scale)
		require.Equal(t, []float64{1, 2, 2}, m.Levels[1].Scale)
		require.Equal(t, []float64{0, 0.5, 0.5}, m.Levels[1].Translation)
		require.Equal(t, 0, m.LevelFor(0.1))
		require.Equal(t, 0, m.LevelFor(1.5))
		require.Equal(t, 1, m.LevelFor(2))
	}
	ms, err := pyramid(t, `{"title":"none"}`)
	require.NoError(t, err)
	require.Empty(t, ms)
	for _, bad := range []string{
		`{"ome":{"multiscales":[{"axes":[],"datasets":[]}]}}`,
		`{"ome":{"multiscales":[{"axes":[],"datasets":[{"path":"../x"}]}]}}`,
		`{"ome":{"multiscales":[{"axes":[],"datasets":[{"path":"0","coordinateTransformations":[{"type":"scale","scale":[1]}]}]}]}}`,
		`{"multiscales":7}`,
	} {
		_, err := pyramid(t, bad)
		require.ErrorIs(t, err, fault.ErrCorrupt, bad)
	}
}
