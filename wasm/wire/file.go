package wire

// Path is gh_path: names in a file system of the host's.
type Path struct{ FS, Flags, Name, NameLen, To, ToLen, Buf, Cap uint32 }

// Flags of gh_path. Those of open are those of storage.OpenFlag.
const (
	RenameNoReplace = 1
)

// Stat is gh_stat.
type Stat struct {
	Size, MTimeNS, CTimeNS, Allocated int64
	Dev, Ino, Links                   uint64
	Kind, ID                          uint32
}

// Copy is gh_copy.
type Copy struct {
	Off, SrcOff, N int64
	File, Src      uint32
}

// Lock is gh_lock.
type Lock struct {
	FS, Mode, Name, NameLen uint32
	Owner                   uint64
}

// Kinds in the gh_stat of stat and stat_file, and that of statfs.
const (
	StatFile      = 1
	StatDirectory = 2
	StatNetwork   = 1
)

// What lock_range does; the modes are those of storage.LockMode.
const RangeUnlock = 0

// What container_read reads.
const (
	ReadSlice     = 0 // items: start, stop, step of each axis
	ReadBytes     = 1 // off, n of the decoded bytes
	ReadChunk     = 2
	ReadEncoded   = 3 // a chunk as it is stored
	ReadVLMeta    = 4
	ReadMetalayer = 5
	ReadFrame     = 6 // all of it, as a contiguous frame
)

// ReadLittle is a flag of ReadSlice and ReadChunk: numbers that are stored
// big endian are turned around.
const ReadLittle = 1 << 8

// What container_write writes.
const (
	WriteSlice     = 0
	WriteAppend    = 1
	WriteAddChunk  = 2
	WriteInsert    = 3
	WriteUpdate    = 4
	WriteDelete    = 5
	WriteResize    = 6
	WriteSpecial   = 7
	WriteVLMeta    = 8
	WriteMetalayer = 9
	WriteDropMeta  = 10
)
