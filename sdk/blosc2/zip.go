package blosc2

import (
	"context"
	"slices"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/zip"
)

// archive is the files of a store in a zip.
type archive struct {
	f       source
	size    int64
	members map[string]zip.Member
}

func (a *archive) close() error { return a.f.Close() }

// list leaves out what is compressed: it is not served.
func (a *archive) list(context.Context) ([]string, error) {
	var files []string
	for name, m := range a.members {
		if m.Method == zip.Stored {
			files = append(files, name)
		}
	}
	slices.Sort(files)
	return files, nil
}

// verify holds all members, of which some may not be the store's, against their
// checksums.
func (a *archive) verify(ctx context.Context, v *verifier) error {
	files, err := a.list(ctx)
	if err != nil {
		return err
	}
	for _, name := range files {
		m := a.members[name]
		off, err := m.Data(a.f, a.size)
		if err == nil {
			err = m.Check(ctx, a.f, off)
		}
		if err := v.found("/"+name, err); err != nil {
			return err
		}
	}
	return nil
}

func (a *archive) place(name string) (place, error) {
	m, ok := a.members[name]
	if !ok {
		return place{}, fault.New(fault.ErrNotFound, "zip", name, "no such member")
	}
	if m.Method != zip.Stored {
		return place{}, fault.New(fault.ErrUnsupported, "zip", m.Name, "is compressed; members are read in place, so they have to be stored")
	}
	off, err := m.Data(a.f, a.size)
	return place{file: a.f, name: name, off: off, size: m.Size}, err
}

// openZip opens the DictStore or TreeStore in a zip. f is closed with it, not
// if this fails.
func openZip(ctx context.Context, f source, name string, o Options) (Container, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	members, err := zip.ParseDirectory(f, info.Size, o.Limits.Meta)
	if err != nil {
		return nil, &fault.Error{Format: "blosc2", Item: name, Off: -1, Err: err}
	}
	d, err := newDictStore(ctx, name, &archive{f: f, size: info.Size, members: byName(members)}, o)
	if err != nil {
		return nil, err
	}
	return d.orTree(), nil
}

func byName(members []zip.Member) map[string]zip.Member {
	all := make(map[string]zip.Member, len(members))
	for _, m := range members {
		all[m.Name] = m
	}
	return all
}
