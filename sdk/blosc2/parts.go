package blosc2

// How large chunks and blocks are where nobody says. python-blosc2 asks the
// machine for the sizes of its caches; that makes files differ from machine to
// machine, so here they are those of a common one (32 MiB of L3).
const (
	defaultChunkBytes = 8 << 20
	defaultBlockBytes = 192 << 10
)

// divide chooses the chunks and blocks of an array that are nil, for items of
// size bytes, as python-blosc2 does. An array without items is one chunk of
// its own shape, which it cannot grow out of.
func (s *Shape) divide(size, chunkBytes, blockBytes int64) {
	if s.Blocks == nil {
		within := s.Chunks
		if within == nil {
			within = s.Shape
		}
		s.Blocks = partition(within, max(blockBytes/size, 1))
	}
	if s.Chunks != nil {
		return
	}
	items, _ := product(s.Blocks)
	most := chunkBytes / size // whole blocks of them
	if items > 0 {
		most = max(most/items*items, items)
	}
	s.Chunks = partition(s.Shape, most)
	for i, n := range s.Shape {
		block := s.Blocks[i]
		if s.Chunks[i] < block && block <= n {
			s.Chunks[i] = block
		}
		s.Blocks[i] = min(block, s.Chunks[i])
		if over := s.Chunks[i]; block > 0 && over < n && over%block != 0 {
			s.Chunks[i] = ceil(over, block) * block
			if all, ok := product(s.Chunks); !ok || all > most {
				s.Chunks[i] = max(over/block, 1) * block
			}
		}
	}
}

// partition returns a box of at most the given number of items: whole axes
// from the last one on, of the one where they do not fit a part, and one item
// of those before.
func partition(shape []int64, items int64) []int64 {
	box := make([]int64, len(shape))
	if n, _ := product(shape); n == 0 && len(shape) > 0 {
		copy(box, shape)
		return box
	}
	for i := range box {
		box[i] = 1
	}
	for i := len(shape) - 1; i >= 0; i-- {
		if shape[i] > items {
			box[i] = share(shape[i], items)
			break
		}
		box[i] = shape[i]
		items /= shape[i]
	}
	return box
}

// share is how many of n items to take at a time, at most most: a divisor of
// n, unless that were half of what can be had, or less.
func share(n, most int64) int64 {
	divisor := int64(1)
	for d := int64(1); d*d <= n && d <= most; d++ {
		if n%d != 0 {
			continue
		}
		divisor = max(divisor, d)
		if n/d <= most {
			divisor = max(divisor, n/d)
			break // those to come are smaller
		}
	}
	if 2*divisor > most {
		return divisor
	}
	return most
}
