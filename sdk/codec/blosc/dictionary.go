package blosc

// dictionary is what all streams of a chunk may refer to.
type dictionary struct {
	bytes []byte
	zstd  func(dst, src []byte) []byte // appends a frame that refers to it; nil for LZ4
}

const (
	minDictionary = 256 // bytes; a smaller one does not pay
	samples       = 16  // of this many parts of the chunk, one is looked at
)

// train makes a dictionary of the filtered blocks, if one may pay.
func (e *encoder) train() {
	most := min(e.size/20, maxDictionary)
	count := (e.size-1)/e.blockSize + 1
	if !e.unsplit {
		count *= e.p.typeSize()
	}
	count = max(count, 8)
	n := e.size / count / samples
	if most < minDictionary || n == 0 {
		return
	}
	filtered := make([]byte, 0, e.size)
	for i := 0; i*e.blockSize < e.size; i++ {
		filtered = append(filtered, e.filter(e.src[i*e.blockSize:min((i+1)*e.blockSize, e.size)], i, e.s)...)
	}
	if e.p.Codec != Zstd { // a sample is a dictionary
		e.dict = &dictionary{bytes: filtered[:min(count*n, most)]}
		return
	}
	var parts [][]byte
	for i := range count {
		parts = append(parts, filtered[i*len(filtered)/count:][:n])
	}
	e.dict = trainZstd(parts, most)
}
