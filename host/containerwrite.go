package host

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"

	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/codec/blosc"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/wasm/wire"
)

// ContainerSpec says how Sandbox.CreateContainer makes a container.
type ContainerSpec struct {
	Kind  string       // "schunk", "ndarray", "embedstore", "dictstore" or "treestore"
	Shape blosc2.Shape // of an array
	Spec  blosc2.Spec  // of a sequence or an array. Fill must be nil
	Store blosc2.StoreSpec
	// Data are the items of a sequence or an array, which is there with them
	// or not at all; nil: none, or zeros. At most a quarter of the guest's
	// memory.
	Data    []byte
	Options ContainerOptions // Write is always set
}

// CreateContainer makes a container and opens it for writing. Errors are those
// of [blosc2.CreateArray] and its kin.
func (s *Sandbox) CreateContainer(ctx context.Context, fs storage.FS, name string, spec ContainerSpec) (*Container, error) {
	if fs == nil || spec.Spec.Fill != nil {
		return nil, fault.New(fault.ErrInvalid, "sandbox", "", "want a file system, and no Fill")
	}
	id := s.systems.add(fs)
	free, err := s.admit(func() { s.systems.remove(id) })
	if err != nil {
		return nil, err
	}
	c := &Container{sandbox: s, kind: spec.Kind, free: free}
	c.recipe = containerRecipe{FS: id, Name: name, Write: true}
	c.lock(spec.Options)
	text, err := json.Marshal(spec.request(&c.recipe))
	if err != nil {
		c.free()
		return nil, fault.New(fault.ErrInvalid, "sandbox", "", err.Error())
	}
	req := append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...)
	req = append(req, spec.Data...)
	_, err = locked(ctx, c.timeout, func() (reply, bool, error) {
		return c.once(ctx, func(in *instance) (reply, error) {
			r, err := in.do(ctx, wire.KindContainerCreate, req, nil)
			if err == nil {
				in.handles[c] = r.object
			}
			return r, err
		})
	})
	if err != nil {
		c.free()
		return nil, err
	}
	return c, nil
}

// request is the JSON of container_create.
func (spec *ContainerSpec) request(r *containerRecipe) map[string]any {
	p, shape := &spec.Spec.Params, &spec.Shape
	req := map[string]any{
		"fs": r.FS, "name": r.Name, "durability": r.Durability, "kind": spec.Kind,
		"locking": r.Locking, "lock_timeout_ms": r.LockMS, "lock_network": r.Network,
		"shape": shape.Shape, "chunks": shape.Chunks, "blocks": shape.Blocks, "dtype": shape.DType,
		"typesize": p.TypeSize, "blocksize": p.BlockSize, "split": p.Split, "dictionary": p.Dictionary,
		"chunksize": spec.Spec.ChunkSize, "sparse": spec.Spec.Sparse, "replace": spec.Spec.Replace, "or_open": spec.Spec.OrOpen,
		"checksums": spec.Spec.Checksums, "threshold": spec.Store.Threshold,
	}
	if p.Codec != 0 || p.Level != 0 || p.Filters != nil {
		filters := [][2]int{}
		for _, f := range p.Filters {
			filters = append(filters, [2]int{int(f.ID), int(f.Meta)})
		}
		req["codec"], req["level"], req["filters"] = p.Codec.String(), p.Level, filters
	}
	meta := []map[string]string{}
	for _, m := range spec.Spec.Meta {
		meta = append(meta, map[string]string{"name": m.Name, "hex": hex.EncodeToString(m.Value)})
	}
	req["meta"] = meta
	return req
}

func (c *Container) write(ctx context.Context, what uint32, numbers []int64, rest ...[]byte) error {
	_, err := c.do(ctx, wire.KindContainerWrite, nil, func(in *instance, h uint32) ([]byte, error) {
		return packed(in, h, what, numbers, rest...), nil
	})
	return err
}

// SetSlice is [blosc2.NDArray.SetSlice]; of a sequence, one span without a
// step.
func (c *Container) SetSlice(ctx context.Context, spans []blosc2.Span, items []byte) error {
	if c.kind == "ndarray" {
		return c.write(ctx, wire.WriteSlice, triples(spans), items)
	}
	if len(spans) != 1 || spans[0].Step > 1 || spans[0].Step < 0 {
		return fault.New(fault.ErrInvalid, "slice", "", "want one span, without a step")
	}
	return c.write(ctx, wire.WriteSlice, []int64{spans[0].Start}, items)
}

// AppendAlong is [blosc2.NDArray.Append].
func (c *Container) AppendAlong(ctx context.Context, axis int, items []byte) error {
	return c.write(ctx, wire.WriteAppend, []int64{int64(axis)}, items)
}

// Append is [blosc2.SChunk.Append].
func (c *Container) Append(ctx context.Context, items []byte) error {
	return c.write(ctx, wire.WriteAppend, nil, items)
}

// AppendChunk is [blosc2.SChunk.AppendChunk].
func (c *Container) AppendChunk(ctx context.Context, data []byte) error {
	return c.write(ctx, wire.WriteAddChunk, nil, data)
}

// InsertChunk is [blosc2.SChunk.InsertChunk].
func (c *Container) InsertChunk(ctx context.Context, i int64, data []byte) error {
	return c.write(ctx, wire.WriteInsert, []int64{i}, data)
}

// UpdateChunk is [blosc2.SChunk.UpdateChunk].
func (c *Container) UpdateChunk(ctx context.Context, i int64, data []byte) error {
	return c.write(ctx, wire.WriteUpdate, []int64{i}, data)
}

// DeleteChunk is [blosc2.SChunk.DeleteChunk].
func (c *Container) DeleteChunk(ctx context.Context, i int64) error {
	return c.write(ctx, wire.WriteDelete, []int64{i})
}

// AppendSpecial is [blosc2.SChunk.AppendSpecial].
func (c *Container) AppendSpecial(ctx context.Context, kind blosc.Special, count int64, value []byte) error {
	return c.write(ctx, wire.WriteSpecial, []int64{int64(kind), count}, value)
}

// Resize is [blosc2.NDArray.Resize].
func (c *Container) Resize(ctx context.Context, shape []int64) error {
	return c.write(ctx, wire.WriteResize, shape)
}

// SetVLValue is [blosc2.SChunk.SetVLValue].
func (c *Container) SetVLValue(ctx context.Context, name string, value []byte) error {
	return c.write(ctx, wire.WriteVLMeta, []int64{int64(len(name))}, []byte(name), value)
}

// SetMetalayer is [blosc2.SChunk.SetMetalayer].
func (c *Container) SetMetalayer(ctx context.Context, name string, value []byte) error {
	return c.write(ctx, wire.WriteMetalayer, []int64{int64(len(name))}, []byte(name), value)
}

// DeleteVL is [blosc2.SChunk.DeleteVL].
func (c *Container) DeleteVL(ctx context.Context, name string) error {
	return c.write(ctx, wire.WriteDropMeta, nil, []byte(name))
}

// Compact is [blosc2.SChunk.Compact].
func (c *Container) Compact(ctx context.Context) error { return c.ask(ctx, deed{Do: "compact"}, nil) }

// Put stores a copy of a container of the same sandbox under a key.
func (c *Container) Put(ctx context.Context, key string, from *Container) error {
	if from.sandbox != c.sandbox || from.closed.Load() {
		return fault.New(fault.ErrInvalid, "container", key, "want an open container of the same sandbox")
	}
	if from.held && from.home != c.home {
		return fault.New(fault.ErrUnsupported, "container", key, "a hold or a snapshot that another instance has")
	}
	return c.askWith(ctx, func(in *instance) (deed, error) {
		h, err := in.handle(ctx, from)
		return deed{Do: "put", Key: key, From: h}, err
	}, nil)
}

// Delete removes a key of a store.
func (c *Container) Delete(ctx context.Context, key string) error {
	return c.ask(ctx, deed{Do: "delete", Key: key}, nil)
}

// ToB2Z is [blosc2.DictStore.ToB2Z].
func (c *Container) ToB2Z(ctx context.Context, fs storage.FS, name string, overwrite bool) error {
	id := c.sandbox.systems.add(fs)
	defer c.sandbox.systems.remove(id)
	return c.ask(ctx, deed{Do: "to_b2z", FS: id, Name: name, Overwrite: overwrite}, nil)
}
