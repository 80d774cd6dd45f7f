package main

import (
	"context"
	"errors"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/gridhold/gridhold/native/s3"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// destination opens what a copy to Zarr goes to. finish makes the copy appear,
// or takes it away again if it is told of an error.
func destination(ctx context.Context, name string, overwrite bool) (st storage.Store, finish func(error) error, err error) {
	if scheme, _ := schemeOf(name); scheme == "s3" {
		b, err := newBucket(ctx, name, overwrite)
		if err != nil {
			return nil, nil, err
		}
		return b, b.close, nil
	}
	t, err := newTarget(ctx, name, overwrite)
	if err != nil {
		return nil, nil, err
	}
	return t.store, t.close, nil
}

// checkTarget refuses to take a URL that cannot be written to for a path.
func checkTarget(name string) error {
	switch scheme, _ := schemeOf(name); {
	case scheme == "":
		return nil
	case scheme != "s3":
		return fault.New(fault.ErrReadOnly, "url", scheme+"://", "copies go to a path or to s3://")
	case isFrame(name) || isStore(name):
		return fault.New(fault.ErrUnsupported, "s3", "", "copies to S3 are Zarr")
	}
	return nil
}

// bucket is a prefix of a bucket of S3 that a copy goes to. Metadata are held
// back until the rest is there: nobody opens half a copy. There is no renaming,
// so that what is overwritten is removed first.
type bucket struct {
	*s3.Store
	ctx  context.Context // of the command
	name string

	mu       sync.Mutex
	metadata map[string][]byte // by key; held back
	order    []string          // of their keys, as they came: groups before what is in them
	written  []string          // keys of what is in the bucket
}

func newBucket(ctx context.Context, name string, overwrite bool) (*bucket, error) {
	st, err := s3.Open(ctx, name, s3.Options{})
	if err != nil {
		return nil, err
	}
	b := &bucket{Store: st, ctx: ctx, name: name, metadata: map[string][]byte{}}
	if err := b.clear(overwrite); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return b, nil
}

// clear makes sure that nothing is there, or removes the array or group that
// is: its metadata first.
func (b *bucket) clear(overwrite bool) error {
	names, err := b.List(b.ctx, "")
	if err != nil || len(names) == 0 {
		return err
	}
	if !overwrite {
		return fault.New(fault.ErrExists, "s3", "", "there is something below this key")
	}
	if err := (nodeFiles{b.Store, b.List}).check(b.ctx); err != nil {
		return err
	}
	return b.remove("", names)
}

// remove deletes all keys below a prefix.
func (b *bucket) remove(prefix string, names []string) error {
	for _, metadata := range []bool{true, false} {
		for _, name := range names {
			key := prefix + name
			switch dir := strings.HasSuffix(name, "/"); {
			case isMetadata(name) != metadata:
			case dir:
				below, err := b.List(b.ctx, key)
				if err == nil {
					err = b.remove(key, below)
				}
				if err != nil {
					return err
				}
			default:
				if err := b.Delete(b.ctx, key, storage.Condition{}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func isMetadata(name string) bool {
	switch name {
	case "zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata":
		return true
	}
	return false
}

// Put is storage.Putter's.
func (b *bucket) Put(ctx context.Context, key string, data []byte, c storage.Condition) (storage.Version, error) {
	if !isMetadata(path.Base(key)) {
		v, err := b.Store.Put(ctx, key, data, c)
		if err == nil || c == (storage.Condition{}) && !refused(err) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.written = append(b.written, key)
		}
		return v, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	_, there := b.metadata[key]
	if err := c.Check(key, there, ""); err != nil {
		return "", err
	}
	if !there {
		b.order = append(b.order, key)
	}
	b.metadata[key] = append([]byte(nil), data...)
	return "", nil
}

// refused reports whether an object was certainly not written. Otherwise only the
// answer may have been lost, by an interrupt for one.
func refused(err error) bool {
	return !errors.Is(err, fault.ErrCancelled) && !errors.Is(err, fault.ErrIO)
}

// close writes the metadata, what is deepest first, if the copy went well, and
// removes what was written otherwise.
func (b *bucket) close(err error) error {
	for i := len(b.order) - 1; i >= 0 && err == nil; i-- {
		key := b.order[i]
		_, err = b.Store.Put(b.ctx, key, b.metadata[key], storage.Condition{Absent: true})
		if err == nil {
			b.written = append(b.written, key)
		}
	}
	if err != nil {
		err = b.takeBack(err)
	}
	return failed(b.name, errors.Join(err, b.Store.Close()))
}

// takeBack removes what was written before a copy failed with err. The command
// may be interrupted, it is done all the same, until the server does not follow.
func (b *bucket) takeBack(err error) error {
	for i := len(b.written) - 1; i >= 0; i-- {
		if cause := b.Delete(context.WithoutCancel(b.ctx), b.written[i], storage.Condition{}); cause != nil {
			left := strconv.Itoa(i+1) + " objects of the copy are left over: " + cause.Error()
			return fault.New(fault.Of(fault.CodeOf(cause)), "s3", "", text(err)+"; "+left)
		}
	}
	return err
}
