package engine

import (
	"math"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/rawjson"
	"github.com/gridhold/gridhold/wasm/wire"
)

// request is what gh_start was given, taken apart and checked. It holds no
// memory of the host's.
type request struct {
	kind    uint32
	flags   uint32
	at      *object // array, group or cache that it is about
	cache   *object
	index   []int64
	stop    []int64
	data    []byte    // of decode
	indices [][]int64 // of a batch

	handle uint32
	budget int64
	place  *place

	container *containerPlace // of container_open and container_create
	creation  *creation
	deed      *deed
	name      string           // of a metalayer
	pictures  *picturesRequest // of all that is about images

	weight int64 // bytes that it may take
	// urgent requests do not wait for others to end: those may wait for the
	// lock that this one gives back, or needs no more of.
	urgent bool
	room   [4]int64 // where index lies, if it fits
}

// place is the request of open, verify and list.
type place struct {
	Store        storePlace
	Path         string
	Node         string
	Consolidated bool
	Trace        bool
	IndexPack    *packPlace // nil: none
}

// storePlace names a store: the host's, or one over HTTP; or an archive in it.
type storePlace struct {
	Kind               string
	ID                 uint32
	URL                string
	ForbiddenIsMissing bool
	NoSuffix           bool
	Gap, MaxMerged     int64  // as in storage.HTTPOptions
	Parallel           int    // the same
	Zip                string // key of the archive; "": none
}

// parse takes it apart; false: it is not as the ABI says.
func (p *storePlace) parse(s *rawjson.Members) bool {
	p.Kind, p.ID, p.URL = s.String("kind", ""), uint32(s.Int("id", 0, math.MaxUint32, 0)), s.String("url", "")
	p.ForbiddenIsMissing, p.NoSuffix, p.Zip = s.Bool("forbidden_is_missing"), s.Bool("no_suffix"), s.String("zip", "")
	p.Gap, p.MaxMerged = s.Int("gap", -1, math.MaxInt64, 0), s.Int("max_merged", 0, math.MaxInt64, 0)
	p.Parallel = int(s.Int("parallel", 0, mostParallel, 0))
	return s.Err() == nil && (p.Kind == "host" || p.Kind == "http" && p.URL != "")
}

// someBytes is the weight of what is small: metadata, lists, statistics.
const someBytes = 256 << 10

// parse takes the request of an operation apart. It answers Invalid for one
// that is not as the ABI says, Unsupported for a kind that is not known and
// Closed for a handle that is not open.
func (e *Engine) parse(q *request, kind uint32, req []byte) fault.Code {
	q.kind, q.weight = kind, someBytes
	r := wire.NewReader(req)
	switch kind {
	case wire.KindOpen, wire.KindVerify, wire.KindList:
		if !q.parsePlace(req) {
			return fault.CodeInvalid
		}
		if kind == wire.KindVerify {
			q.weight = e.memory / 2
		}
		return 0
	case wire.KindClose:
		q.handle, q.urgent = r.U32(), true
		return closedUnless(&r, e.known(q.handle))
	case wire.KindCacheNew:
		q.handle = r.U32()
		q.at, q.flags, q.budget = e.arrayOf(q.handle), r.U32(), r.I64()
		if q.budget < 0 {
			return fault.CodeInvalid
		}
		return closedUnless(&r, q.at != nil)
	case wire.KindCacheStats, wire.KindCacheClear:
		q.at = e.cacheOf(r.U32())
		return closedUnless(&r, q.at != nil)
	case wire.KindCacheInvalidate:
		q.at = e.cacheOf(r.U32())
		q.index = r.Dims(q.room[:0], r.U32())
		return closedUnless(&r, q.at != nil)
	case wire.KindReadSubchunk, wire.KindReadEncoded, wire.KindShardTable, wire.KindLocate, wire.KindReadRegion:
		return e.parseRead(q, &r)
	case wire.KindReadSubchunks, wire.KindLocateSubchunks:
		return e.parseBatch(q, &r)
	case wire.KindDecode:
		q.at = e.arrayOf(r.U32())
		q.data = append([]byte(nil), r.Rest()...)
		if q.at != nil {
			q.weight = add(int64(len(q.data)), q.at.subchunk)
		}
		return closedUnless(&r, q.at != nil)
	case wire.KindContainerOpen:
		return e.parseContainerOpen(q, req)
	case wire.KindContainerCreate:
		return e.parseCreate(q, &r)
	case wire.KindContainerRead, wire.KindContainerWrite:
		return e.parseContainer(q, &r)
	case wire.KindContainerDo:
		return e.parseDeed(q, req)
	}
	return e.parseImages(q, req)
}

func (e *Engine) parseRead(q *request, r *wire.Reader) fault.Code {
	q.at = e.arrayOf(r.U32())
	cache := r.U32()
	q.flags = r.U32()
	n := r.U32()
	q.index = r.Dims(q.room[:0], n)
	if q.kind == wire.KindReadRegion {
		q.stop = r.Dims(nil, n)
	}
	if cache != 0 {
		q.cache = e.cacheOf(cache)
	}
	if code := closedUnless(r, q.at != nil && (cache == 0 || q.cache != nil)); code != 0 {
		return code
	}
	q.weight = add(q.at.subchunk, q.at.subchunk)
	switch q.kind {
	case wire.KindShardTable, wire.KindLocate:
		q.weight = someBytes
	case wire.KindReadRegion:
		q.weight = add(q.weight, q.region())
	}
	return 0
}

// region returns the bytes of a region; 0 for one that is no region, which
// the array will say.
func (q *request) region() int64 {
	shape := make([]int64, len(q.index))
	for i := range shape {
		if shape[i] = q.stop[i] - q.index[i]; shape[i] < 0 {
			return 0
		}
	}
	return volume(shape, q.at.item)
}

func (q *request) parsePlace(req []byte) bool {
	p := new(place)
	q.place = p
	m := rawjson.MembersOf(req)
	named := p.Store.parse(m.Object("store"))
	p.Path, p.Node, p.Consolidated = m.String("path", ""), m.String("node", ""), m.Bool("consolidated")
	p.Trace = m.Bool("trace")
	if m.Raw("index_pack") != nil {
		p.IndexPack = &packPlace{}
		named = p.IndexPack.parse(m.Object("index_pack")) && named
	}
	if m.Err() != nil || !named {
		return false
	}
	switch p.Node {
	case "array", "group", "any":
		return q.kind == wire.KindOpen
	case "":
		return q.kind != wire.KindOpen
	}
	return false
}

func (e *Engine) known(handle uint32) bool {
	_, ok := e.handles.Get(handle)
	return ok
}

// closedUnless answers for a request that was read to its end.
func closedUnless(r *wire.Reader, open bool) fault.Code {
	switch {
	case !r.Done():
		return fault.CodeInvalid
	case !open:
		return fault.CodeClosed
	}
	return 0
}

// add adds without wrapping around.
func add(a, b int64) int64 {
	if s := a + b; s >= 0 {
		return s
	}
	return 1<<63 - 1
}
