package web

import "github.com/gridhold/gridhold/native/clock"

// Clock is storage.Clock by the system's clock.
type Clock = clock.System
