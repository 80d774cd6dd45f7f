package host

import (
	"context"
	"encoding/json"
	"time"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/wasm/wire"
)

// Cost is what reads of the array cost so far, its opening included, as the
// guest saw it: Requests are those that it made itself, of stores by
// Sandbox.HTTP. ErrInvalid where the array was opened without
// OpenOptions.Trace. After the guest has died the counts begin anew.
func (a *Array) Cost(ctx context.Context) (storage.Cost, error) {
	if !a.place.Trace {
		return storage.Cost{}, fault.New(fault.ErrInvalid, "zarr", "/"+a.place.Path, "was not opened with a trace")
	}
	var all storage.Cost
	err := a.counter.each(ctx, wire.KindCacheStats, nil, func(r reply) error {
		c, err := costOf(r.bytes)
		all = all.Plus(c)
		return err
	})
	return all, err
}

func costOf(text []byte) (storage.Cost, error) {
	var s struct {
		Cost struct {
			Requests, Reads, Bytes, Waits, Decodes, Elements, Failures int64

			IndexLoads   int64 `json:"index_loads"`
			RequestingUS int64 `json:"requesting_us"`
			ReadingUS    int64 `json:"reading_us"`
			WaitingUS    int64 `json:"waiting_us"`
			DecodingUS   int64 `json:"decoding_us"`
		}
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return storage.Cost{}, internal("answers what is not JSON")
	}
	c := s.Cost
	us := func(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
	return storage.Cost{
		Requests: c.Requests, Reads: c.Reads, IndexLoads: c.IndexLoads, Bytes: c.Bytes,
		Waits: c.Waits, Decodes: c.Decodes, Elements: c.Elements, Failures: c.Failures,
		Requesting: us(c.RequestingUS), Reading: us(c.ReadingUS), Waiting: us(c.WaitingUS), Decoding: us(c.DecodingUS),
	}, nil
}
