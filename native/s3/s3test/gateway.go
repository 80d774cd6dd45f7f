// Package s3test starts a server of S3 for tests: versitygw over a directory
// of the test's. scripts/gateway.sh builds it, as a program of its own module,
// into .build; nothing of it is linked.
package s3test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// The credentials that a Gateway takes.
const (
	AccessKey = "gridhold"
	SecretKey = "gridhold-secret"
)

// Gateway is a server that runs until the test ends.
type Gateway struct {
	Endpoint string // "http://127.0.0.1:port"
	Dir      string // its buckets are the directories in it

	t       testing.TB
	program string
	address string
	process *exec.Cmd
}

// Start starts a server with one bucket. It skips the test where the server
// was not built, and fails it if REQUIRE_PEERS is set.
func Start(t testing.TB, bucket string) *Gateway {
	t.Helper()
	program := find()
	if program == "" {
		if os.Getenv("REQUIRE_PEERS") != "" {
			t.Fatal("there is no .build/versitygw: run scripts/gateway.sh")
		}
		t.Skip("there is no .build/versitygw: run scripts/gateway.sh")
	}
	g := &Gateway{Dir: t.TempDir(), t: t, program: program}
	if err := os.Mkdir(filepath.Join(g.Dir, bucket), 0o777); err != nil {
		t.Fatal(err)
	}
	for range 5 { // somebody may take the port between the two of us
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		g.address = l.Addr().String()
		l.Close()
		if g.run() {
			g.Endpoint = "http://" + g.address
			t.Cleanup(g.Kill)
			return g
		}
	}
	t.Fatal("versitygw did not start")
	return nil
}

// find looks for the program in .build of the module, from here upwards.
func find() string {
	dir, err := os.Getwd()
	for err == nil {
		name := filepath.Join(dir, ".build", "versitygw")
		if _, missing := os.Stat(name); missing == nil {
			return name
		}
		if _, end := os.Stat(filepath.Join(dir, "go.mod")); end == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	return ""
}

// run starts the program and waits until it listens; false if it ended.
func (g *Gateway) run() bool {
	g.process = exec.Command(g.program, "--quiet", "--access", AccessKey, "--secret", SecretKey, "--port", g.address, "posix", g.Dir)
	g.process.Env = []string{"HOME=" + g.Dir, "PATH=" + os.Getenv("PATH")}
	if err := g.process.Start(); err != nil {
		g.t.Fatal(err)
	}
	ended := make(chan bool)
	process := g.process
	go func() { process.Wait(); close(ended) }()
	try := time.NewTicker(10 * time.Millisecond)
	defer try.Stop()
	for {
		if c, err := net.Dial("tcp", g.address); err == nil {
			c.Close()
			return true
		}
		select {
		case <-ended:
			return false
		case <-try.C:
		}
	}
}

// Kill ends the server at once.
func (g *Gateway) Kill() { g.process.Process.Kill() }

// Restart starts it again, at the same address, over the same directory.
func (g *Gateway) Restart() {
	g.t.Helper()
	if !g.run() {
		g.t.Fatal("versitygw did not start again")
	}
}
