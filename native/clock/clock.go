// Package clock gives the port storage.Clock by the system's clock.
package clock

import (
	"context"
	"time"
)

// System is storage.Clock by the system's clock.
type System struct{}

// Now is Clock's.
func (System) Now() time.Time { return time.Now() }

// Sleep is Clock's.
func (System) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return ctx.Err()
	}
}
