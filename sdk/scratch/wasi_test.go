//go:build unix

package scratch

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/storage"
)

// A WASI program, which has no locks and no mappings, reads a scratch that
// native writers are filling: never a wrong pixel, and in the end everything
// from there.
func TestGuestReads(t *testing.T) {
	const stacks, count = 4, 64
	dir, bin := t.TempDir(), t.TempDir()
	// The sandbox is a process of its own, so that it is not slowed down by
	// what this one may be checked for.
	program, sandbox := filepath.Join(bin, "wasi.wasm"), filepath.Join(bin, "wazero.exe")
	for _, build := range [][]string{
		{"GOOS=wasip1", "GOARCH=wasm", program, "./testdata/wasi"}, {"", "", sandbox, "github.com/tetratelabs/wazero/cmd/wazero"},
	} {
		c := exec.Command("go", "build", "-o", build[2], build[3])
		c.Env = append(os.Environ(), build[:2]...)
		out, err := c.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}

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

	guest := exec.Command(sandbox, "run", "-mount="+dir+":/:ro", program, strconv.Itoa(stacks), strconv.Itoa(count))
	var errs bytes.Buffer
	guest.Stderr = &errs
	read, err := guest.StdoutPipe()
	require.NoError(t, err)
	out := bufio.NewScanner(read)
	require.NoError(t, guest.Start())
	t.Cleanup(func() { guest.Process.Kill() })
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
	require.NoError(t, guest.Wait(), "%v", &errs)
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
