package scratch

import (
	"math/bits"
	"math/rand/v2"

	"github.com/gridhold/gridhold/sdk/fault"
)

// Sampler says in which order and in which batches a program goes through
// items, epoch after epoch.
type Sampler struct {
	Count int64 // of all items
	Batch int64 // items of a batch; the last one may have fewer
	// Shuffle gives every epoch an order of its own, which Seed and the number
	// of the epoch decide: the same in every process and on every machine.
	Shuffle bool
	Seed    uint64
	// DropLast leaves out a last batch that is not full.
	DropLast bool
	// Shard of Shards programs that share an epoch: each item goes to one of
	// them. 0 Shards: there is one.
	Shard, Shards int64
}

// Check returns ErrInvalid for a sampler that cannot be meant.
func (s Sampler) Check() error {
	if s.Count < 0 || s.Batch < 1 || s.Shards < 0 || s.Shard < 0 || s.Shard >= max(s.Shards, 1) {
		return fault.New(fault.ErrInvalid, "sampler", "", "a negative count, batches of none, or a shard that there is not")
	}
	return nil
}

// Order returns the items of an epoch, those of the shard, in order.
func (s Sampler) Order(epoch int64) []int64 {
	shards := max(s.Shards, 1)
	all := make([]int64, s.Count)
	for i := range all {
		all[i] = int64(i)
	}
	if s.Shuffle {
		// Fisher and Yates, written out: the order outlives any library's.
		r := rand.NewPCG(s.Seed, uint64(epoch))
		for i := len(all) - 1; i > 0; i-- {
			j, _ := bits.Mul64(r.Uint64(), uint64(i)+1)
			all[i], all[j] = all[j], all[i]
		}
	}
	if shards == 1 {
		return all
	}
	mine := all[:0]
	for i := s.Shard; 0 <= i && i < s.Count; i += shards { // the sum may wrap
		mine = append(mine, all[i])
	}
	return mine
}

// Batches returns how many batches an epoch has.
func (s Sampler) Batches() int64 {
	mine := parts(s.Count-s.Shard, max(s.Shards, 1))
	if s.DropLast {
		return mine / s.Batch
	}
	return parts(mine, s.Batch)
}

// parts returns how many parts of a size n makes, the last of which may be
// smaller. A size may be as large as numbers are: "all of it".
func parts(n, size int64) int64 {
	if n <= 0 {
		return 0
	}
	return (n-1)/size + 1
}
