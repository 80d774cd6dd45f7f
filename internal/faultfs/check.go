package faultfs

import (
	"flag"
	"os"
	"runtime"
	"testing"

	"pgregory.net/rapid"
)

// Check tries a property on random inputs (rapid.Check): the same hundred each
// time, so that what passes once does not fail another time; or, where the
// environment has GRIDHOLD_CHECKS, as many as that says, others each time. An
// input that fails is made as short as it goes and told, with the seed to try
// it again by.
func Check(t *testing.T, property func(t *rapid.T)) {
	t.Helper()
	settings := map[string]string{"rapid.nofailfile": "true", "rapid.checks": "100"}
	if runtime.GOOS == "wasip1" { // which takes ten times as long
		settings["rapid.checks"] = "10"
	}
	if n := os.Getenv("GRIDHOLD_CHECKS"); n != "" {
		settings["rapid.checks"] = n
	} else if flag.Lookup("rapid.seed").Value.String() == "0" {
		settings["rapid.seed"] = "1"
	}
	for name, value := range settings {
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	rapid.Check(t, property)
}
