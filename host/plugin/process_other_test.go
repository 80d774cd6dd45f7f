//go:build !linux

package plugin_test

import "time"

func resident() int64 { return 0 }

func processorTime() time.Duration { return 0 }
