package engine

import (
	"context"
	"math"

	"github.com/gridhold/gridhold/sdk/blosc2"
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/rawjson"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// deed is the request of container_do.
type deed struct {
	do        string
	key       string
	name      string
	fs        uint32
	from      *object // of put
	overwrite bool
	shared    bool  // of hold
	keep      bool  // of checksums
	axes      []int // of squeeze and expand
	creation  *creation
	place     *containerPlace // of copy, as creation
}

func (e *Engine) parseDeed(q *request, req []byte) fault.Code {
	m := rawjson.MembersOf(req)
	d := &deed{do: m.String("do", ""), key: m.String("key", ""), name: m.String("name", ""), overwrite: m.Bool("overwrite"), shared: m.Bool("shared")}
	d.fs = uint32(m.Int("fs", 0, math.MaxUint32, 0))
	q.handle = uint32(m.Int("container", 0, math.MaxUint32, 0))
	from := uint32(m.Int("from", 0, math.MaxUint32, 0))
	ok := true
	for _, axis := range ints(m, "axes", &ok) {
		d.axes = append(d.axes, int(axis))
	}
	if d.keep = m.Bool("keep"); d.do == "copy" {
		d.creation, d.place = &creation{}, &containerPlace{}
		ok = ok && d.place.parse(m) && d.creation.parse(m)
	}
	if m.Err() != nil || !ok {
		return fault.CodeInvalid
	}
	q.deed, q.at = d, e.containerOf(q.handle)
	if d.do == "put" {
		if d.from = e.containerOf(from); d.from == nil {
			return fault.CodeClosed
		}
	}
	if q.at == nil {
		return fault.CodeClosed
	}
	q.urgent = q.at.endHold != nil
	switch d.do {
	case "verify", "compact", "put", "to_b2z", "copy", "squeeze", "expand", "checksums":
		q.weight = e.memory / 2
	}
	return 0
}

func (e *Engine) containerDo(ctx context.Context, q *request) (answer, error) {
	c, d := q.at.container, q.deed
	var err error
	switch d.do {
	case "state":
	case "describe":
		description, err := c.Describe(ctx)
		return inJSON(description, err)
	case "keys", "children":
		names, err := d.names(ctx, c)
		return inJSON(nameList(names), err)
	case "verify":
		var found findings
		found.checked, err = blosc2.Verify(ctx, c, func(d blosc2.Damage) { found.damaged = append(found.damaged, zarr.Damage(d)) })
		return inJSON(found, err)
	case "hold":
		return e.hold(ctx, q)
	case "copy", "snapshot":
		made, err := e.another(ctx, c, d)
		if err != nil {
			return answer{}, err
		}
		o := &object{container: made}
		if d.do == "snapshot" {
			o.owner = q.at
		} else {
			e.remember(o, d.place)
		}
		return e.containerAnswer(ctx, q, o)
	case "squeeze", "expand":
		err = d.reshape(ctx, c)
	case "repair":
		err = frameOf(c).Repair(ctx)
	case "checksums":
		err = frameOf(c).KeepChecksums(ctx, d.keep)
	case "refresh":
		_, err = frameOf(c).Refresh(ctx)
	case "compact":
		err = frameOf(c).Compact(ctx)
	default:
		err = e.change(ctx, c, d)
	}
	return inJSON(stateOf(c), err)
}

// hold takes the container's lock until the handle that it answers is closed.
func (e *Engine) hold(ctx context.Context, q *request) (answer, error) {
	mode := storage.LockExclusive
	if q.deed.shared {
		mode = storage.LockShared
	}
	held, end, err := blosc2.Hold(ctx, q.at.container, mode)
	if err != nil {
		return answer{}, err
	}
	return e.containerAnswer(ctx, q, &object{container: held, endHold: end, owner: q.at})
}

// keyStore is what all stores can do.
type keyStore interface {
	Put(ctx context.Context, key string, c blosc2.Container) error
}

// change carries out what is about the keys of a store.
func (e *Engine) change(ctx context.Context, c blosc2.Container, d *deed) error {
	t, isTree := c.(*blosc2.TreeStore)
	dict, isDict := c.(*blosc2.DictStore)
	if isTree {
		dict, isDict = t.DictStore(), true
	}
	s, isStore := c.(keyStore)
	switch {
	case d.do == "put" && isStore:
		return s.Put(ctx, d.key, d.from.container)
	case d.do == "delete" && isDict:
		return dict.Delete(ctx, d.key)
	case d.do == "delete" && isStore:
		return c.(*blosc2.EmbedStore).Delete(ctx, d.key)
	case d.do == "to_b2z" && isDict:
		return dict.ToB2Z(ctx, e.fileSystem(d.fs), d.name, d.overwrite)
	}
	return fault.New(fault.ErrInvalid, "container", d.do, "a "+c.Kind()+" cannot do that")
}

// names are all keys, or the nodes right below one.
func (d *deed) names(ctx context.Context, c blosc2.Container) ([]string, error) {
	switch c := c.(type) {
	case *blosc2.EmbedStore:
		if d.do == "keys" {
			return c.Keys(ctx)
		}
	case *blosc2.DictStore:
		if d.do == "keys" {
			return c.Keys(ctx)
		}
	case *blosc2.TreeStore:
		if d.do == "keys" {
			return c.Keys(ctx)
		}
		return c.Children(ctx, d.key)
	}
	return nil, wrongKind(c, d.do)
}

type nameList []string

// WriteJSON implements [rawjson.Value].
func (l nameList) WriteJSON(w *rawjson.Writer) { writeNames(w, l) }
