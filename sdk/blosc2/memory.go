package blosc2

import (
	"bytes"
	"context"

	"github.com/gridhold/gridhold/sdk/storage"
)

// OpenBytes opens a frame or a zip that is in memory, without a copy: b must
// stay as it is until the container is closed. It can only be read. Those to
// be written to in memory are made in a storage.MemoryFS. Errors are those of
// Open.
func OpenBytes(ctx context.Context, b []byte, name string, o Options) (Container, error) {
	o, err := o.checked()
	if err != nil {
		return nil, err
	}
	f := memory{bytes.NewReader(b)}
	zip, err := isZip(f)
	if err != nil {
		return nil, err
	}
	if zip {
		return openZip(ctx, f, name, o)
	}
	return openLeaf(ctx, place{file: f, name: name, size: -1}, o)
}

// Bytes returns a frame, an *SChunk or *NDArray, as the bytes of a contiguous
// one without dead bytes: what OpenBytes opens, and from_cframe of
// python-blosc2. ErrInvalid for stores, and the errors of Chunk.
func Bytes(ctx context.Context, c Container) ([]byte, error) { return cframe(ctx, c) }

// memory is bytes as a file.
type memory struct{ *bytes.Reader }

func (m memory) Stat() (storage.FileInfo, error) {
	return storage.FileInfo{Size: m.Size(), Links: 1}, nil
}

func (memory) Close() error { return nil }
