package interop

// shortfalls are the settings of which chunks are larger than they may be,
// and by how many percent of the peer's they are at most.
var shortfalls = map[string]float64{
	"lz4hc 9, none, classes":      8.0,
	"zstd 7, none, field":         4.9,
	"zstd 7, none, text":          4.4,
	"zstd 7, shuffle, text":       4.4,
	"zstd 7, bitshuffle, classes": 5.4,
	"zstd 9, none, field":         20.4,
	"zstd 9, none, text":          5.9,
	"zstd 9, shuffle, times":      8.4,
	"zstd 9, shuffle, classes":    3.7,
	"zstd 9, shuffle, text":       5.9,
	"zstd 9, bitshuffle, classes": 9.0,
}
