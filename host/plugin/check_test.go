package plugin_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/host/plugin"
)

func TestCheck(t *testing.T) {
	for _, tc := range []struct {
		name     string
		findings int
	}{{"tiff", 5}, {"aec", 2}, {"npy", 2}} {
		p := opened(t, tc.name, plugin.Options{})
		all, err := p.Check(context.Background())
		require.NoError(t, err)
		require.Len(t, all, tc.findings)
		for _, f := range all {
			require.NoError(t, f.Err, f.What)
			require.False(t, f.Skipped)
		}
	}
}

func TestCheckOfHostile(t *testing.T) {
	p := opened(t, "hostile/codecs", plugin.Options{})
	all, err := p.Check(context.Background())
	require.NoError(t, err)
	require.Len(t, all, 20)
	require.True(t, all[0].Skipped)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = opened(t, "tiff", plugin.Options{}).Check(ctx)
	require.True(t, errors.Is(err, context.Canceled))
}
