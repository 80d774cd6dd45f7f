//go:build !gridhold_guest

package blosc2

import (
	"context"
	"errors"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zip"
)

// archive repairs a store in a zip: it gets a new directory where its own is lost,
// or leads to other bytes than were packed, and the members themselves say where
// they are.
func (m *Mended) archive(ctx context.Context, where place, f storage.File, spec RepairSpec, o Options) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	listed, listErr := zip.ParseDirectory(f, info.Size, o.Limits.Meta)
	m.Was = -1
	if listErr == nil {
		m.Was, m.Chunks = int64(len(listed)), int64(len(listed))
		if err := m.members(ctx, f, info.Size, listed); err != nil || m.Lost == nil {
			return err
		}
	} else if !errors.Is(listErr, fault.ErrCorrupt) {
		return listErr
	}
	members, end, err := zip.Recover(ctx, f, info.Size)
	if err == nil {
		err = lacking(members, listed)
	}
	if err == nil && listErr != nil && (len(members) == 0 || members[len(members)-1].Name != embedFile) {
		err = fault.At(fault.ErrCorrupt, "zip", embedFile, end, "is not there, which is packed last: more may be missing")
	}
	if err == nil {
		err = opens(ctx, where, &archive{f: keep{f}, size: end, members: byName(members)}, o)
	}
	switch {
	case err == nil:
	case !errors.Is(err, fault.ErrCorrupt) && !errors.Is(err, fault.ErrUnsupported) && !errors.Is(err, fault.ErrNotFound):
		return err
	case listErr == nil:
		return nil // the others can be read
	default:
		return fault.New(fault.ErrNotFound, "repair", where.name, "there is no whole store in it: "+listErr.Error()+"; "+err.Error())
	}
	m.Chunks, m.Written, m.Lost = int64(len(members)), true, nil
	if spec.DryRun {
		return nil
	}
	return beside(ctx, where, f, end, spec, func(s *sibling) error {
		var all []packed
		for _, member := range members {
			all = append(all, packed{name: member.Name, size: member.Size, at: member.Header, crc: member.CRC})
		}
		_, err := s.WriteAt(directoryOf(all, end), end)
		return err
	})
}

// members holds those that are listed against their headers and checksums.
func (m *Mended) members(ctx context.Context, f storage.File, size int64, listed []zip.Member) error {
	v := verifier{report: func(d Damage) { m.Lost = append(m.Lost, d) }}
	for _, member := range listed {
		off, err := member.Data(f, size)
		if err == nil && member.Method == zip.Stored {
			err = member.Check(ctx, f, off)
		}
		if err := v.found("/"+member.Name, err); err != nil {
			return err
		}
	}
	return nil
}

// lacking returns an error if some of the members that are listed were not found.
func lacking(found, listed []zip.Member) error {
	all := byName(found)
	for _, member := range listed {
		if _, ok := all[member.Name]; !ok {
			return fault.New(fault.ErrCorrupt, "zip", member.Name, "is not where members are")
		}
	}
	return nil
}

// opens tries whether the members are those of a store.
func opens(ctx context.Context, where place, a *archive, o Options) error {
	d, err := newDictStore(ctx, where.name, a, o)
	if err != nil {
		return err
	}
	_, err = d.Keys(ctx)
	return errors.Join(err, d.Close())
}
