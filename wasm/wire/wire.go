// Package wire is, for guest and Go host alike, the layouts and numbers of docs/abi.md: the structs that
// lie in the guest's memory, the kinds of operations, and the reader of
// packed requests.
//
// Every struct has the size and the offsets of the page on every platform:
// fields are of fixed size and 64-bit fields lie on multiples of eight. An
// address is a uint32; it means something only in a wasm guest.
package wire

// The version of the ABI.
const (
	Major = 1
	Minor = 2
)

// Pending is what an import answers when the answer comes later.
const Pending int32 = -1 << 31

// Kinds of operations.
const (
	KindOpen            = 1
	KindClose           = 2
	KindCacheNew        = 3
	KindCacheStats      = 4
	KindCacheClear      = 5
	KindCacheInvalidate = 6
	KindReadSubchunk    = 7
	KindReadEncoded     = 8
	KindReadRegion      = 9
	KindShardTable      = 10
	KindDecode          = 11
	KindVerify          = 12
	KindList            = 13
	KindLocate          = 14
	KindReadSubchunks   = 15
	KindLocateSubchunks = 16
	KindContainerOpen   = 17
	KindContainerCreate = 18
	KindContainerRead   = 19
	KindContainerWrite  = 20
	KindContainerDo     = 21
	KindImagesOpen      = 22
	KindImagesRead      = 23
	KindTableRead       = 24
	KindScratchOpen     = 25
	KindScratchRead     = 26
	KindScratchLocate   = 27
	KindScratchDo       = 28

	LastKind = KindScratchDo
)

// KindName is the name of a kind of operation, "" of one that is not known.
func KindName(kind uint32) string {
	if kind < uint32(len(kindNames)) {
		return kindNames[kind]
	}
	return ""
}

var kindNames = [...]string{
	KindOpen: "open", KindClose: "close", KindCacheNew: "cache_new", KindCacheStats: "cache_stats", KindCacheClear: "cache_clear",
	KindCacheInvalidate: "cache_invalidate", KindReadSubchunk: "read_subchunk", KindReadEncoded: "read_encoded",
	KindReadRegion: "read_region", KindShardTable: "shard_table", KindDecode: "decode", KindVerify: "verify", KindList: "list",
	KindLocate: "locate", KindReadSubchunks: "read_subchunks", KindLocateSubchunks: "locate_subchunks",
	KindContainerOpen: "container_open", KindContainerCreate: "container_create", KindContainerRead: "container_read",
	KindContainerWrite: "container_write", KindContainerDo: "container_do",
	KindImagesOpen: "images_open", KindImagesRead: "images_read", KindTableRead: "table_read",
	KindScratchOpen: "scratch_open", KindScratchRead: "scratch_read", KindScratchLocate: "scratch_locate", KindScratchDo: "scratch_do",
}

// Flags of requests.
const (
	FlagLocate          = 1 // read_subchunk: a raw subchunk may be answered located
	FlagReload          = 2 // reads: drop the shard's index first
	FlagRememberMissing = 1 // cache_new
)

// PlaceRaw is a flag of a place in gh_places: its bytes are the elements
// themselves.
const PlaceRaw = 1

// Flags of gh_read and gh_fetch.
const (
	ReadKeep   = 1
	ReadReload = 2
	FetchCut   = 1 // the body was longer than body_cap
)

// Status of a run.
const (
	Idle      = 0
	More      = 1
	Stalled   = 2
	Reentered = 3
)

// Answers of the import cancel.
const (
	Released = 0
	Busy     = 1
)

// States of an operation.
const (
	Running  = 1
	OK       = 2
	Failed   = 3
	Panicked = 4
)

// Kinds of results.
const (
	None    = 0
	Bytes   = 1
	JSON    = 2
	Located = 3
)

// Mailbox is gh_mailbox, one an instance.
type Mailbox struct {
	ABI, Size              uint32
	Waiting, Live          uint32
	Done, DonePtr, DoneCap uint32
	CQPtr, CQCap           uint32
	Panics, Orphans        uint32
	ReqPtr, ReqCap         uint32
	Status, Result         uint32
}

// Completion is gh_completion.
type Completion struct {
	Token uint32
	N     int32
}

// Result is gh_result.
type Result struct {
	State                uint32
	Code                 int32
	Kind, Ptr, Len       uint32
	DetailPtr, DetailLen uint32
	Object               uint32
	Off, Length          int64
}

// Read is gh_read.
type Read struct{ Store, Flags, Key, KeyLen, Ver, VerLen, Ranges, N uint32 }

// Range is gh_range.
type Range struct {
	Off, Len int64
	Buf, Cap uint32
	N        int32
	_        uint32
}

// List is gh_list.
type List struct{ Store, Prefix, PrefixLen, Buf, Cap uint32 }

// Fetch is gh_fetch.
type Fetch struct {
	Method, MethodLen, URL, URLLen, Header, HeaderLen uint32
	Body, BodyCap, Answer, AnswerCap                  uint32
	Status, AnswerLen, Flags                          uint32
}

// Info is gh_info. MTimeNS, Dev, Ino and Kind are not used.
type Info struct {
	Size, MTimeNS, Dev, Ino, Need int64
	Kind, VerLen                  uint32
	Ver                           [128]byte
	ID, MinLen                    uint32
}

// Version returns the version that the host wrote; ok is false where its
// length is impossible.
func (i *Info) Version() (v []byte, ok bool) {
	if i.VerLen > uint32(len(i.Ver)) {
		return nil, false
	}
	return i.Ver[:i.VerLen], true
}
