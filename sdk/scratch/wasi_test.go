//go:build unix

package scratch

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/storage"
)

// A WASI program, which has no locks and no mappings, reads a scratch that
// native writers are filling: never a wrong pixel, and in the end everything
// from there.
func TestGuestReads(t *testing.T) {
	const stacks, count = 4, 64
	dir := t.TempDir()
	program := filepath.Join(t.TempDir(), "wasi.wasm")
	build := exec.Command("go", "build", "-o", program, "./testdata/wasi")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		require.NoError(t, err, "%s", out)
	}
	code, err := os.ReadFile(program)
	require.NoError(t, err)
	runtime := wazero.NewRuntime(ctx)
	defer runtime.Close(ctx)
	wasi_snapshot_preview1.MustInstantiate(ctx, runtime)
	compiled, err := runtime.CompileModule(ctx, code)
	require.NoError(t, err)

	fs, err := file.OpenFS(dir)
	require.NoError(t, err)
	defer fs.Close()
	var all [][]image.ImageLocation
	for i := range stacks {
		key := strconv.Itoa(i) + ".mrcs"
		writeStack(t, fs, key, count, i*count)
		all = append(all, images(key))
	}
	g := group(t, all...)
	s, err := CreateMappedFileImageScratch(ctx, g, fs, "scr", 4, Everything, image.Files(fs, image.FilesOptions{}), waiting)
	require.NoError(t, err)
	closing(t, s)

	read, write := io.Pipe()
	out := bufio.NewScanner(read)
	var errs bytes.Buffer
	done := make(chan error, 1)
	go func() {
		defer write.Close()
		_, err := runtime.InstantiateModule(ctx, compiled, wazero.NewModuleConfig().
			WithFSConfig(wazero.NewFSConfig().WithDirMount(dir, "/")).WithArgs("wasi", strconv.Itoa(stacks), strconv.Itoa(count)).
			WithSysWalltime().WithSysNanotime().WithRandSource(rand.Reader).WithStdout(write).WithStderr(&errs))
		done <- err
	}()
	// An eighth at a time, while the guest goes through all of them.
	dst := make([]byte, 64*64*4)
	for n := range stacks * count {
		if n%(stacks*count/8) == 0 {
			require.True(t, out.Scan(), "%v", &errs)
			require.Equal(t, "epoch", out.Text())
		}
		require.NoError(t, s.ReadImages(ctx, strconv.Itoa(n/count)+".mrcs", dst, int64(n%count)))
		require.Equal(t, float32(n), math.Float32frombits(binary.LittleEndian.Uint32(dst)))
	}
	last := ""
	for out.Scan() {
		last = out.Text()
	}
	require.NoError(t, <-done, "%v", &errs)
	var hits, reads, damaged, unreadable int64
	_, err = fmt.Sscan(last, &hits, &reads, &damaged, &unreadable)
	require.NoError(t, err, last)
	t.Logf("the guest had %d images from the scratch, %d reads from the stacks", hits, reads)
	require.Zero(t, damaged+unreadable)
	require.Positive(t, reads)
	require.Greater(t, hits, int64(stacks*count))
}

// writeStack makes a stack of images of 64x64 that begin with first, first+1,
// and so on.
func writeStack(t *testing.T, fs storage.FS, key string, count, first int) {
	f, err := fs.Open(ctx, key, readWrite|storage.OpenCreate)
	require.NoError(t, err)
	defer f.Close()
	w, err := image.NewMRCWriter(f, image.MRCLayout{Type: image.Float32, Columns: 64, Rows: 64})
	require.NoError(t, err)
	for i := range count {
		b := make([]byte, 64*64*4)
		binary.LittleEndian.PutUint32(b, math.Float32bits(float32(first+i)))
		require.NoError(t, w.Write(ctx, b))
	}
	require.NoError(t, w.Finish(ctx))
}
