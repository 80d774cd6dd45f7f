// Command manifest writes what gridhold.json says of a guest. The size as
// brotli is measured with the brotli command; without it, it is left out.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"

	"github.com/gridhold/gridhold/wasm/wire"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "manifest:", err)
		os.Exit(1)
	}
}

func run(name string) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(b)
	m := struct {
		ABI    string `json:"abi"`
		Go     string `json:"go"`
		SHA256 string `json:"sha256"`
		Size   int    `json:"size"`
		Brotli int    `json:"brotli,omitempty"`
	}{fmt.Sprintf("%d.%d", wire.Major, wire.Minor), runtime.Version(), hex.EncodeToString(sum[:]), len(b), 0}
	cmd := exec.Command("brotli", "-q", "11", "-w", "24", "-c")
	cmd.Stdin = bytes.NewReader(b)
	if out, err := cmd.Output(); err == nil {
		m.Brotli = len(out)
	}
	e := json.NewEncoder(os.Stdout)
	e.SetIndent("", "  ")
	return e.Encode(m)
}
