package storage

import (
	"sync/atomic"
	"time"

	"github.com/gridhold/gridhold/sdk/rawjson"
)

// EventKind is what an Event tells of.
type EventKind int

const (
	Requested EventKind = iota + 1 // an exchange with a server, from its turn to the last byte
	Read                           // a call to a store, whatever it cost the store
	Indexed                        // a call to a store for the index of a shard
	Waited                         // for an index that another reader loads, a turn among requests, or before another try
	Decoded                        // stored bytes into elements
)

// Event is one thing that a read cost.
type Event struct {
	Kind  EventKind
	Key   string // of the object; "" where there is none
	Bytes int64  // that came; of Decoded, elements
	Took  time.Duration
	Err   error // what it failed with
}

// Trace is told of each Event as it ends. It is called from several goroutines
// at once and in the middle of reads: it has to be quick. A nil Trace is not
// called, and costs nothing.
type Trace func(Event)

// Now is the time for Done, which a nil Trace does not ask for.
func (t Trace) Now() time.Time {
	if t == nil {
		return time.Time{}
	}
	return time.Now()
}

// Done tells of what began at a time that Now gave.
func (t Trace) Done(kind EventKind, key string, bytes int64, began time.Time, err error) {
	if t != nil {
		t(Event{kind, key, bytes, time.Since(began), err})
	}
}

// Tally adds up what a Trace is told: its method Note is one. The zero value
// is ready. Safe for concurrent use.
type Tally struct {
	requests, reads, indexes, waits, decodes, failures atomic.Int64
	received, elements                                 atomic.Int64
	requesting, reading, waiting, decoding             atomic.Int64 // nanoseconds
}

// Note is a Trace.
func (t *Tally) Note(e Event) {
	if e.Err != nil {
		t.failures.Add(1)
	}
	took := int64(e.Took)
	switch e.Kind {
	case Requested:
		t.requests.Add(1)
		t.requesting.Add(took)
	case Read:
		t.reads.Add(1)
		t.received.Add(e.Bytes)
		t.reading.Add(took)
	case Indexed:
		t.indexes.Add(1)
		t.received.Add(e.Bytes)
		t.reading.Add(took)
	case Waited:
		t.waits.Add(1)
		t.waiting.Add(took)
	case Decoded:
		t.decodes.Add(1)
		t.elements.Add(e.Bytes)
		t.decoding.Add(took)
	}
}

// Cost is what reads cost so far. Times of what went on side by side are
// added up, so that they may be more than went by.
type Cost struct {
	Requests   int64         // to servers; 0 where the store has none
	Reads      int64         // of stored chunks and subchunks: calls to the store
	IndexLoads int64         // of shard indexes
	Bytes      int64         // that the store gave
	Waits      int64         // see Waited
	Decodes    int64         // of chunks and subchunks
	Elements   int64         // bytes decoded
	Failures   int64         // of any of these
	Requesting time.Duration // spent in Requests
	Reading    time.Duration // in Reads and IndexLoads, Requesting and Waiting included
	Waiting    time.Duration
	Decoding   time.Duration
}

// Cost returns the sums.
func (t *Tally) Cost() Cost {
	return Cost{
		Requests: t.requests.Load(), Reads: t.reads.Load(), IndexLoads: t.indexes.Load(), Bytes: t.received.Load(),
		Waits: t.waits.Load(), Decodes: t.decodes.Load(), Elements: t.elements.Load(), Failures: t.failures.Load(),
		Requesting: time.Duration(t.requesting.Load()), Reading: time.Duration(t.reading.Load()),
		Waiting: time.Duration(t.waiting.Load()), Decoding: time.Duration(t.decoding.Load()),
	}
}

// Plus returns the sums of two costs.
func (c Cost) Plus(d Cost) Cost {
	return Cost{
		Requests: c.Requests + d.Requests, Reads: c.Reads + d.Reads, IndexLoads: c.IndexLoads + d.IndexLoads, Bytes: c.Bytes + d.Bytes,
		Waits: c.Waits + d.Waits, Decodes: c.Decodes + d.Decodes, Elements: c.Elements + d.Elements, Failures: c.Failures + d.Failures,
		Requesting: c.Requesting + d.Requesting, Reading: c.Reading + d.Reading,
		Waiting: c.Waiting + d.Waiting, Decoding: c.Decoding + d.Decoding,
	}
}

// WriteJSON implements [rawjson.Value]. Times are in microseconds.
func (c Cost) WriteJSON(w *rawjson.Writer) {
	w.Open('{')
	w.Name("requests").Int(c.Requests)
	w.Name("reads").Int(c.Reads)
	w.Name("index_loads").Int(c.IndexLoads)
	w.Name("bytes").Int(c.Bytes)
	w.Name("waits").Int(c.Waits)
	w.Name("decodes").Int(c.Decodes)
	w.Name("elements").Int(c.Elements)
	w.Name("failures").Int(c.Failures)
	w.Name("requesting_us").Int(c.Requesting.Microseconds())
	w.Name("reading_us").Int(c.Reading.Microseconds())
	w.Name("waiting_us").Int(c.Waiting.Microseconds())
	w.Name("decoding_us").Int(c.Decoding.Microseconds())
	w.Close('}')
}
