package host

import (
	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zip"
)

// OpenOptions are those of opening. The zero value is the advice.
type OpenOptions struct {
	// Consolidated trusts the metadata that the root keeps of the nodes below.
	Consolidated bool
	// IndexPack has the indexes of the array's shards, so that they need not
	// be loaded; nil: none. An array that it is not for is ErrWrongArray.
	IndexPack *IndexPack
	// Trace adds up what reads of the array cost; see Array.Cost.
	Trace bool
}

// IndexPack names the object that "gridhold index build" made: see
// [zarr.IndexPack]. The guest reads it when it opens the array.
type IndexPack struct {
	Store storage.Store
	Key   string
}

// Zip is the members of an archive in a store, which the guest itself finds
// and unpacks. Used outside the sandbox it is the same store natively.
type Zip struct {
	*zip.Later
	inner storage.Store
	key   string
}

// NewZip makes a store of the archive that is the object under key. Nothing
// is read yet. An archive within an archive is ErrUnsupported where it is opened.
func NewZip(inner storage.Store, key string) *Zip {
	return &Zip{zip.OpenLater(inner, key, zip.Options{}), inner, key}
}

// place is a node of a store, as requests spell it.
type place struct {
	Store        storePlace `json:"store"`
	Path         string     `json:"path"`
	Node         string     `json:"node,omitempty"`
	Consolidated bool       `json:"consolidated,omitempty"`
	Trace        bool       `json:"trace,omitempty"`
	IndexPack    *packPlace `json:"index_pack,omitempty"`
}

type storePlace struct {
	Kind               string `json:"kind"`
	ID                 uint32 `json:"id,omitempty"`
	URL                string `json:"url,omitempty"`
	ForbiddenIsMissing bool   `json:"forbidden_is_missing,omitempty"`
	NoSuffix           bool   `json:"no_suffix,omitempty"`
	Gap                int64  `json:"gap,omitempty"`
	MaxMerged          int64  `json:"max_merged,omitempty"`
	Parallel           int    `json:"parallel,omitempty"`
	Zip                string `json:"zip,omitempty"`
}

type packPlace struct {
	Store storePlace `json:"store"`
	Key   string     `json:"key"`
}

// place registers the stores that a node is read from. free ends that.
func (s *Sandbox) place(st storage.Store, path, node string, o OpenOptions) (p place, free func(), err error) {
	p = place{Path: path, Node: node, Consolidated: o.Consolidated, Trace: o.Trace}
	p.Store, free, err = s.lend(st)
	if err != nil || o.IndexPack == nil {
		return p, free, err
	}
	pack, freePack, err := s.lend(o.IndexPack.Store)
	if err != nil {
		free()
		return p, nil, err
	}
	p.IndexPack = &packPlace{pack, o.IndexPack.Key}
	freeStore := free
	return p, func() { freePack(); freeStore() }, nil
}

// lend makes a store known to the guest. free ends that.
func (s *Sandbox) lend(st storage.Store) (p storePlace, free func(), err error) {
	switch st := st.(type) {
	case nil:
		return p, nil, fault.New(fault.ErrInvalid, "sandbox", "store", "is nil")
	case *HTTP:
		return storePlace{
			Kind: "http", URL: st.url, ForbiddenIsMissing: st.o.ForbiddenIsMissing, NoSuffix: st.o.NoSuffix,
			Gap: max(st.o.Gap, -1), MaxMerged: max(st.o.MaxMerged, 0), Parallel: max(st.o.Parallel, 0),
		}, func() {}, nil
	case *Zip:
		if _, nested := st.inner.(*Zip); nested || st.key == "" {
			return p, nil, fault.New(fault.ErrUnsupported, "zip", st.key, "want the key of an archive in a store that is none")
		}
		p, free, err = s.lend(st.inner)
		p.Zip = st.key
		return p, free, err
	}
	id := s.stores.add(st)
	return storePlace{Kind: "host", ID: id}, func() {
		if s.stores.remove(id, st) {
			s.shared.drop(id)
		}
	}, nil
}
