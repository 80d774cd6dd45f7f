package scratch

import (
	"context"
	"errors"

	"github.com/gridhold/gridhold/sdk/storage"
)

// Collected is what Collect removed, or would have to.
type Collected struct {
	Removed []string // names of files
	Freed   int64    // bytes of the file system
	Taken   int64    // what scratches take that are left; those in use as much as they may grow to
}

// Collect removes scratches of a directory that nobody uses, those first that
// were used longest ago, until what is left takes at most budget bytes, and
// what creators left that were killed. What is no scratch is left alone. A
// scratch in use is not removed, whatever the budget is.
func Collect(ctx context.Context, fs storage.FS, directory string, budget int64, o Options) (c Collected, err error) {
	unlock, err := lockDirectory(ctx, fs, directory, o.Clock)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if c.Removed, err = sweep(ctx, fs, directory, suffix); err != nil {
		return c, err
	}
	d, err := survey(ctx, fs, directory, "")
	if err != nil {
		return c, err
	}
	for _, n := range d {
		c.Taken += n.takes
	}
	for _, n := range d {
		if c.Taken <= budget {
			break
		}
		if n.inUse {
			continue
		}
		gone, err := removeUnused(ctx, fs, n.name, false)
		if err != nil {
			return c, err
		}
		if gone {
			c.Removed = append(c.Removed, n.name)
			c.Freed += n.takes
			c.Taken -= n.takes
		}
	}
	return c, nil
}
