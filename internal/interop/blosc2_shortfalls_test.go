package interop

// shortfalls are the settings of which chunks are larger than they may be,
// and by how many percent of the peer's they are at most.
var shortfalls = map[string]float64{}
