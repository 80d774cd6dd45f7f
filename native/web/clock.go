package web

import (
	"context"
	"time"
)

// Clock is storage.Clock by the system's clock.
type Clock struct{}

// Now is Clock's.
func (Clock) Now() time.Time { return time.Now() }

// Sleep is Clock's.
func (Clock) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return ctx.Err()
	}
}
