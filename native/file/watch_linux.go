package file

import (
	"context"
	"errors"
	"os"
	"path"
	"strconv"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// Watch is storage.Watcher's, by inotify. The directory is watched, because
// a file may be replaced.
func (s *FS) Watch(ctx context.Context, name string) (storage.Watch, error) {
	if err := checkName(ctx, name); err != nil {
		return nil, err
	}
	dir, err := openRead(s.root, path.Dir(name)) // within the root
	if err != nil {
		return nil, failure(name, err)
	}
	defer dir.Close()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, noWatch(name, err)
	}
	const signs = unix.IN_MODIFY | unix.IN_MOVED_TO | unix.IN_CREATE | unix.IN_DELETE | unix.IN_ATTRIB
	if _, err := unix.InotifyAddWatch(fd, "/proc/self/fd/"+strconv.Itoa(int(dir.Fd())), signs); err != nil {
		unix.Close(fd)
		return nil, noWatch(name, err)
	}
	return &watch{f: os.NewFile(uintptr(fd), "inotify"), name: path.Base(name)}, nil
}

func noWatch(name string, err error) error {
	return fault.New(fault.ErrUnsupported, "watch", name, err.Error())
}

type watch struct {
	f      *os.File
	name   string
	closed atomic.Bool
	buf    [4096]byte
}

// Wait is Watch's. Closing the file ends a read, which is how ctx does.
func (w *watch) Wait(ctx context.Context) error {
	if err := storage.Ended(ctx, w.name); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { w.Close() })
	defer stop()
	for {
		n, err := w.f.Read(w.buf[:])
		if err != nil {
			if ended := storage.Ended(ctx, w.name); ended != nil {
				return ended
			}
			if errors.Is(err, os.ErrClosed) {
				return fault.New(fault.ErrClosed, "watch", w.name, "")
			}
			return failure(w.name, err)
		}
		if w.concerned(w.buf[:n]) {
			return nil
		}
	}
}

// concerned reports whether an event is of the file, or some were lost.
func (w *watch) concerned(events []byte) bool {
	for len(events) >= unix.SizeofInotifyEvent {
		mask := uint32(events[4]) | uint32(events[5])<<8 | uint32(events[6])<<16 | uint32(events[7])<<24
		n := int(uint32(events[12]) | uint32(events[13])<<8 | uint32(events[14])<<16 | uint32(events[15])<<24)
		name := events[unix.SizeofInotifyEvent : unix.SizeofInotifyEvent+n]
		for len(name) > 0 && name[len(name)-1] == 0 {
			name = name[:len(name)-1]
		}
		if mask&(unix.IN_Q_OVERFLOW|unix.IN_IGNORED) != 0 || string(name) == w.name {
			return true
		}
		events = events[unix.SizeofInotifyEvent+n:]
	}
	return false
}

// Close ends the watch. Closing twice is fine.
func (w *watch) Close() error {
	if w.closed.Swap(true) {
		return nil
	}
	return failure(w.name, w.f.Close())
}
