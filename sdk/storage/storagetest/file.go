package storagetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

func testReadWrite(t *testing.T, fs storage.FS) {
	f := openFile(t, fs, "f", create)
	data := Pattern(100, 1)
	_, err := f.WriteAt(data, 50)
	noError(t, err)
	want := append(make([]byte, 50), data...)
	check := func() {
		t.Helper()
		info, err := f.Stat()
		noError(t, err)
		if info.Size != int64(len(want)) || info.Dir {
			t.Fatalf("%+v, want %d bytes", info, len(want))
		}
		got := make([]byte, len(want))
		_, err = f.ReadAt(got, 0)
		noError(t, err)
		equalBytes(t, got, want)
	}
	check()
	for _, tc := range []struct{ off, n, want int }{{0, 10, 10}, {145, 10, 5}, {150, 1, 0}, {900, 1, 0}} {
		n, err := f.ReadAt(make([]byte, tc.n), int64(tc.off))
		if n != tc.want || n < tc.n && err != io.EOF || n == tc.n && err != nil {
			t.Fatalf("%d bytes, %v at %d", n, err, tc.off)
		}
	}
	_, err = f.ReadAt(make([]byte, 1), -1)
	isError(t, err, fault.ErrInvalid)
	_, err = f.WriteAt(make([]byte, 1), -1)
	isError(t, err, fault.ErrInvalid)
	noError(t, f.Truncate(60))
	want = want[:60]
	check()
	noError(t, f.Truncate(80))
	want = append(want[:60:60], make([]byte, 20)...)
	check()
	noError(t, f.Truncate(40))
	_, err = f.WriteAt([]byte("after a gap"), 50) // of zeros, whatever was there
	noError(t, err)
	want = append(append(want[:40:40], make([]byte, 10)...), "after a gap"...)
	check()
	isError(t, f.Truncate(-1), fault.ErrInvalid)
	noError(t, f.Sync())
}

func testReadOnly(t *testing.T, fs storage.FS) {
	put(t, fs, "f", []byte("text"))
	f := openFile(t, fs, "f", readOnly)
	_, err := f.WriteAt([]byte("x"), 0)
	isError(t, err, fault.ErrReadOnly)
	isError(t, f.Truncate(0), fault.ErrReadOnly)
	isError(t, f.Allocate(0, 1), fault.ErrReadOnly)
	isError(t, f.PunchHole(0, 1), fault.ErrReadOnly)
	_, _, err = f.CopyRange(0, f, 1, 1)
	isError(t, err, fault.ErrReadOnly)
	if got := content(t, fs, "f"); got != "text" {
		t.Fatalf("%q", got)
	}
}

func testSpace(t *testing.T, fs storage.FS) {
	f := openFile(t, fs, "f", create)
	data := Pattern(3<<16, 1)
	_, err := f.WriteAt(data, 0)
	noError(t, err)
	if err := f.Allocate(0, 4<<16); !errors.Is(err, fault.ErrUnsupported) {
		noError(t, err)
		info, err := f.Stat()
		noError(t, err)
		if info.Size != 4<<16 {
			t.Fatalf("%d bytes after Allocate", info.Size)
		}
		data = append(data, make([]byte, 1<<16)...)
	}
	if err := f.PunchHole(1<<16, 1<<16); !errors.Is(err, fault.ErrUnsupported) {
		noError(t, err)
		clear(data[1<<16 : 2<<16])
	}
	got := make([]byte, len(data))
	_, err = f.ReadAt(got, 0)
	noError(t, err)
	equalBytes(t, got, data)
	isError(t, f.Allocate(-1, 1), fault.ErrInvalid)
	isError(t, f.PunchHole(1, -1), fault.ErrInvalid)
}

func testCopy(t *testing.T, fs storage.FS) {
	data := Pattern(3<<20+77, 1)
	put(t, fs, "src", data)
	src := openFile(t, fs, "src", readOnly)
	memory := storage.NewMemory()
	memory.Set("k", data)
	other := storage.FileOf(context.Background(), memory, "k")
	for i, from := range []storage.File{src, other} {
		f := openFile(t, fs, fmt.Sprint("dst", i), create)
		for _, tc := range []struct{ off, srcOff, n, want int64 }{
			{5, 0, 3<<20 + 77, 3<<20 + 77}, {0, 100, 10, 10}, {9, 3<<20 + 70, 100, 7}, {3, 9 << 20, 5, 0}, {3, 0, 0, 0},
		} {
			n, crc, err := f.CopyRange(tc.off, from, tc.srcOff, tc.n)
			noError(t, err)
			var part []byte
			if tc.want > 0 {
				part = data[tc.srcOff : tc.srcOff+tc.want]
			}
			if n != tc.want || crc != storage.UpdateCRC(0, part) {
				t.Fatalf("%d bytes with CRC %08x, want %d with %08x", n, crc, tc.want, storage.UpdateCRC(0, part))
			}
			got := make([]byte, n)
			_, err = f.ReadAt(got, tc.off)
			noError(t, err)
			equalBytes(t, got, part)
		}
		_, _, err := f.CopyRange(-1, from, 0, 1)
		isError(t, err, fault.ErrInvalid)
		_, _, err = f.CopyRange(0, from, -1, 1)
		isError(t, err, fault.ErrInvalid)
	}
}

func testLockRange(t *testing.T, fs storage.FS) {
	const far = 1 << 61
	put(t, fs, "f", nil)
	a, b, c := openFile(t, fs, "f", update), openFile(t, fs, "f", update), openFile(t, fs, "f", readOnly)
	unlock, err := a.LockRange(far, storage.LockExclusive)
	if errors.Is(err, fault.ErrUnsupported) {
		t.Skip("no range locks here")
	}
	noError(t, err)
	for _, f := range []storage.File{a, b, c} {
		_, err = f.LockRange(far, storage.LockShared)
		isError(t, err, fault.ErrLocked)
	}
	next, err := b.LockRange(far+1, storage.LockExclusive)
	noError(t, err)
	noError(t, next())
	noError(t, unlock())
	shared, err := b.LockRange(far, storage.LockShared)
	noError(t, err)
	again, err := c.LockRange(far, storage.LockShared)
	noError(t, err)
	_, err = a.LockRange(far, storage.LockExclusive)
	isError(t, err, fault.ErrLocked)
	noError(t, again())
	noError(t, shared())
	_, err = a.LockRange(far, storage.LockExclusive)
	noError(t, err)
	noError(t, a.Close()) // frees it
	unlock, err = b.LockRange(far, storage.LockExclusive)
	noError(t, err)
	noError(t, unlock())
	_, err = c.LockRange(far, storage.LockExclusive)
	isError(t, err, fault.ErrReadOnly)
	_, err = b.LockRange(-1, storage.LockExclusive)
	isError(t, err, fault.ErrInvalid)
	_, err = b.LockRange(0, 0)
	isError(t, err, fault.ErrInvalid)
	info, err := b.Stat()
	noError(t, err)
	if info.Size != 0 {
		t.Fatal("locking made the file longer")
	}
}

func testClosed(t *testing.T, fs storage.FS) {
	put(t, fs, "f", []byte("text"))
	f := openFile(t, fs, "f", update)
	noError(t, f.Close())
	noError(t, f.Close())
	_, err := f.ReadAt(make([]byte, 1), 0)
	isError(t, err, fault.ErrClosed)
	_, err = f.WriteAt(make([]byte, 1), 0)
	isError(t, err, fault.ErrClosed)
	_, err = f.Stat()
	isError(t, err, fault.ErrClosed)
	_, err = f.LockRange(0, storage.LockShared)
	isError(t, err, fault.ErrClosed)
	isError(t, f.Truncate(0), fault.ErrClosed)
	isError(t, f.Sync(), fault.ErrClosed)
	isError(t, f.Allocate(0, 1), fault.ErrClosed)
	isError(t, f.PunchHole(0, 1), fault.ErrClosed)
	_, _, err = f.CopyRange(0, f, 0, 1)
	isError(t, err, fault.ErrClosed)
}

func testWriters(t *testing.T, fs storage.FS) {
	const n, size = 8, 1000
	var wg sync.WaitGroup
	f := openFile(t, fs, "f", create)
	failed := make(chan error, n)
	for i := range n {
		wg.Go(func() {
			data, got := Pattern(size, byte(i)), make([]byte, size)
			for k := range 20 {
				off := int64(k*n+i) * size
				if _, err := f.WriteAt(data, off); err != nil {
					failed <- err
					return
				}
				if _, err := f.ReadAt(got, off); err != nil || !bytes.Equal(got, data) {
					failed <- fmt.Errorf("at %d: other bytes, %v", off, err)
					return
				}
			}
		})
	}
	wg.Wait()
	close(failed)
	for err := range failed {
		t.Error(err)
	}
}
