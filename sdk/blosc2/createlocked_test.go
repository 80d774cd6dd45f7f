package blosc2_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// contended is a locker of which others take each lock as soon as it was given
// back exclusively, until they are gone. It tells them like the sandbox does, or
// like a wait with a limit.
type contended struct {
	storage.Locker
	told  error
	taken bool
}

func (c *contended) Lock(ctx context.Context, name string, owner storage.Owner, m storage.LockMode) (func() error, error) {
	if c.taken {
		return nil, fault.New(c.told, "lock", name, "held by another")
	}
	unlock, err := c.Locker.Lock(ctx, name, owner, m)
	return func() error {
		c.taken = m == storage.LockExclusive
		return unlock()
	}, err
}

// Who makes a container while others want its lock is not told that they have it:
// asked again, as a host does who is told so, it would be there already. The
// handle waits when it is used.
func TestCreateWhileOthersLock(t *testing.T) {
	ctx := t.Context()
	for _, told := range []error{fault.ErrLocked, fault.ErrLockTimeout} {
		for name, create := range map[string]func(fs storage.FS, o blosc2.Options) (blosc2.Container, error){
			"sequence": func(fs storage.FS, o blosc2.Options) (blosc2.Container, error) {
				return blosc2.CreateSChunk(ctx, fs, "c", small(false), o)
			},
			"sparse": func(fs storage.FS, o blosc2.Options) (blosc2.Container, error) {
				return blosc2.CreateSChunk(ctx, fs, "c", small(true), o)
			},
			"array": func(fs storage.FS, o blosc2.Options) (blosc2.Container, error) {
				return blosc2.CreateArray(ctx, fs, "c", blosc2.Shape{Shape: []int64{10}, DType: "<f8"}, blosc2.Spec{}, o)
			},
			"embedded": func(fs storage.FS, o blosc2.Options) (blosc2.Container, error) {
				return blosc2.CreateEmbedStore(ctx, fs, "c", o)
			},
			"store": func(fs storage.FS, o blosc2.Options) (blosc2.Container, error) {
				return blosc2.CreateStore(ctx, fs, "c", blosc2.StoreSpec{}, o)
			},
		} {
			t.Run(name, func(t *testing.T) {
				fs := storage.NewMemoryFS(0)
				l := &contended{storage.NewMemoryLocker(), told, name == "sparse"} // whose lock is made with it
				o := blosc2.Options{Locking: blosc2.Locked, Locker: l}
				c, err := create(fs, o)
				require.NoError(t, err)
				require.True(t, l.taken)
				use := func() error {
					if d, ok := c.(*blosc2.DictStore); ok {
						_, err := d.Keys(ctx)
						return err
					}
					s, ok := c.(*blosc2.SChunk)
					switch c := c.(type) {
					case *blosc2.NDArray:
						s, ok = c.SChunk(), true
					case *blosc2.EmbedStore:
						s, ok = c.SChunk(), true
					}
					require.True(t, ok)
					return s.SetVLObject(ctx, "a", "b")
				}
				require.ErrorIs(t, use(), told)
				l.taken = false
				require.NoError(t, use())
				require.NoError(t, c.Close())
				l.taken = true
				_, err = blosc2.Open(ctx, fs, "c", o)
				require.ErrorIs(t, err, told, "of one that was there")
			})
		}
	}
}
