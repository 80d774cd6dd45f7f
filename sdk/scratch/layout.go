package scratch

import (
	"hash/fnv"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/image"
)

// key is one file of images and where its runs lie. Its name is what the
// caller calls it; nothing here knows how to open it.
type key struct {
	name    string
	place   int  // among the keys
	isWhole bool // the caller named the whole file, not images of it
	is      image.Description
	indices []int64 // held images, ascending; nil: 0 to held-1
	held    int64
	perRun  int64 // images in a run; the last one may have fewer
	first   int64 // number of the first run
	off     int64 // of the first run, in bytes from the first byte of the data
	stride  int64 // from one run to the next, in bytes
}

// mostRun is how many bytes a run has at most, unless it is one image: a run is
// read and checked as a whole, so it must fit into memory several times.
const mostRun = 64 << 20

// perRunOf is how many images a run of the key has for a run length.
func (k *key) perRunOf(runLength int64) int64 {
	return max(min(runLength, k.held, mostRun/k.imageBytes()), 1)
}

// runs is how many runs the key has.
func (k *key) runs() int64 { return (k.held + k.perRun - 1) / k.perRun }

// imageBytes is the size of one image in bytes.
func (k *key) imageBytes() int64 { return k.is.ImageBytes() }

// find returns the position of an image among the held ones.
func (k *key) find(index int64) (pos int64, ok bool) {
	if k.indices == nil {
		return index, 0 <= index && index < k.held
	}
	i, ok := slices.BinarySearch(k.indices, index)
	return int64(i), ok
}

// index returns which image is held at a position.
func (k *key) index(pos int64) int64 {
	if k.indices == nil {
		return pos
	}
	return k.indices[pos]
}

// run is a stretch of held images that is taken in and published as one.
type run struct {
	key   *key
	n     int64 // its number among all runs
	pos   int64 // of its first image among the held ones of the key
	count int64 // images
	off   int64 // in bytes from the first byte of the data
	bytes int64
}

// runAt returns the run that holds position pos of a key.
func (k *key) runAt(pos int64) run {
	i := pos / k.perRun
	from := i * k.perRun
	count := min(k.perRun, k.held-from)
	return run{k, k.first + i, from, count, k.off + i*k.stride, count * k.imageBytes()}
}

// String names the run by its key and its first and last image.
func (r run) String() string {
	first, last := r.key.index(r.pos), r.key.index(r.pos+r.count-1)
	return r.key.name + " " + strconv.FormatInt(first, 10) + "-" + strconv.FormatInt(last, 10)
}

// end is where the run ends, in bytes from the first byte of the data. A run
// is eligible if that fits the budget, so what is eligible comes first.
func (r run) end() int64 { return r.off + r.bytes }

// layout is where everything lies. It depends on the locations, the run
// length and what the files are, but not on the budget: a budget cuts it
// short. It does not change.
type layout struct {
	keys      []*key // ascending by name
	images    int64
	runs      int64
	runLength int64
	bytes     int64 // of all runs, each begun on a multiple of the alignment
}

// plan lays out the images of a grouping, of which is describes each file.
// ErrOutOfRange for an index that its file lacks; ErrInvalid where there is no
// image at all; ErrUnsupported for more than 2^32 images in a file.
func plan(locations *image.ImageLocationGrouping, is []image.Description, runLength, alignment int64) (*layout, error) {
	l := &layout{runLength: runLength}
	for i := range locations.Len() {
		g := locations.Group(i)
		if err := checkDescription(g.Key, is[i]); err != nil {
			return nil, err
		}
		k := &key{name: g.Key, isWhole: g.IsWhole, is: is[i], indices: g.Indices, held: int64(len(g.Indices))}
		if g.IsWhole {
			k.held = k.is.Count
		} else if _, _, err := k.is.Images(image.ImageLocation{Key: g.Key, Index: g.Indices[k.held-1]}); err != nil {
			return nil, err
		}
		if err := l.add(k, alignment); err != nil {
			return nil, err
		}
	}
	if l.images == 0 {
		return nil, fault.New(fault.ErrInvalid, "scratch", "", "there is no image to hold")
	}
	return l, nil
}

// add places a key, of which name, isWhole, is, indices and held are set,
// behind those that are there.
func (l *layout) add(k *key, alignment int64) error {
	k.place = len(l.keys)
	if k.held > 0 && k.indices != nil && k.indices[k.held-1] == k.held-1 {
		k.indices = nil
	}
	k.perRun = k.perRunOf(l.runLength)
	image := k.imageBytes()
	if k.held > 0 && image > (math.MaxInt64/4-l.bytes)/(k.held+k.runs()*alignment) {
		return fault.New(fault.ErrLimit, "scratch", k.name, "more bytes than a file has")
	}
	k.first, k.off, k.stride = l.runs, l.bytes, align(k.perRun*image, alignment)
	l.keys = append(l.keys, k)
	l.images += k.held
	l.runs += k.runs()
	if k.held > 0 {
		l.bytes = align(k.runAt(k.held-1).end(), alignment)
	}
	return nil
}

// find returns the key of a name, or nil.
func (l *layout) find(name string) *key {
	i, ok := slices.BinarySearchFunc(l.keys, name, func(k *key, name string) int { return strings.Compare(k.name, name) })
	if !ok {
		return nil
	}
	return l.keys[i]
}

// number returns a run by its number.
func (l *layout) number(n int64) run {
	i, ok := slices.BinarySearchFunc(l.keys, n, func(k *key, n int64) int {
		switch {
		case n < k.first:
			return 1
		case n >= k.first+k.runs():
			return -1
		}
		return 0
	})
	if !ok {
		return run{}
	}
	k := l.keys[i]
	return k.runAt((n - k.first) * k.perRun)
}

// fitting returns how many runs fit into a number of bytes, and how many
// images they hold.
func (l *layout) fitting(bytes int64) (runs, images int64) {
	for r := range l.all(bytes) {
		runs++
		images += r.count
	}
	return runs, images
}

// all yields the runs that fit into a number of bytes, in order.
func (l *layout) all(bytes int64) iter.Seq[run] {
	return func(yield func(run) bool) {
		for _, k := range l.keys {
			for pos := int64(0); pos < k.held; pos += k.perRun {
				r := k.runAt(pos)
				if r.end() > bytes || !yield(r) {
					return
				}
			}
		}
	}
}

// largest is the size of the largest run in bytes.
func (l *layout) largest() (n int64) {
	for _, k := range l.keys {
		if k.held > 0 {
			n = max(n, k.runAt(0).bytes)
		}
	}
	return n
}

// fits reports whether a file that is described so can stand where the one
// of k was laid out: with the same images, and those that are held.
func (k *key) fits(is image.Description) bool {
	return k.is.Type == is.Type && slices.Equal(k.is.ImageShape, is.ImageShape) && k.is.CoreRank == is.CoreRank &&
		len(k.is.Shape) == len(is.Shape) && (k.is.Count == is.Count || !k.isWhole && k.held > 0 && k.index(k.held-1) < is.Count)
}

// sameSet reports whether the layout is one of these locations.
func (l *layout) sameSet(locations *image.ImageLocationGrouping, runLength int64) bool {
	if len(l.keys) != locations.Len() {
		return false
	}
	for i, k := range l.keys {
		g := locations.Group(i)
		if k.name != g.Key || k.isWhole != g.IsWhole || k.perRun != k.perRunOf(runLength) {
			return false
		}
		if g.IsWhole {
			continue
		}
		n := int64(len(g.Indices))
		if k.held != n || k.indices == nil && g.Indices[n-1] != n-1 || k.indices != nil && !slices.Equal(k.indices, g.Indices) {
			return false
		}
	}
	return true
}

// fingerprint names a set of locations with a run length. It finds a file of
// the set; whether that is one, the set itself tells (sameSet), so nothing
// depends on two sets having two fingerprints.
func fingerprint(locations *image.ImageLocationGrouping, runLength int64) (id [16]byte) {
	h := fnv.New128a()
	var b []byte
	number := func(n int64) {
		for ; n >= 0x80; n >>= 7 {
			b = append(b, byte(n)|0x80)
		}
		b = append(b, byte(n))
	}
	number(layoutMajor)
	for i := range locations.Len() {
		g := locations.Group(i)
		number(int64(len(g.Key)))
		b = append(b, g.Key...)
		if g.IsWhole {
			number(0)
			number(runLength)
		} else {
			number(int64(len(g.Indices)))
			number(min(runLength, int64(len(g.Indices))))
		}
		for j := 0; j < len(g.Indices); {
			from := j
			for j++; j < len(g.Indices) && g.Indices[j] == g.Indices[j-1]+1; j++ {
			}
			number(g.Indices[from])
			number(int64(j - from))
			if len(b) > 4096 {
				h.Write(b)
				b = b[:0]
			}
		}
		h.Write(b)
		b = b[:0]
	}
	h.Sum(id[:0])
	return id
}

// checkDescription refuses what a layout has no room for.
func checkDescription(name string, is image.Description) error {
	if err := is.Check(); err != nil {
		return fault.New(err, "scratch", name, "")
	}
	rank, image := len(is.Shape), len(is.ImageShape)
	if rank > maxRank || image > rank || !slices.Equal(is.Shape[rank-image:], is.ImageShape) {
		return fault.New(fault.ErrUnsupported, "scratch", name, "a shape that is not laid out here")
	}
	if is.Count > math.MaxUint32 {
		return fault.New(fault.ErrUnsupported, "scratch", name, "more than 2^32 images")
	}
	return nil
}

// align rounds up to a multiple of a power of two.
func align(n, to int64) int64 { return (n + to - 1) &^ (to - 1) }
