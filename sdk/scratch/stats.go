package scratch

import (
	"sync/atomic"

	"github.com/gridhold/gridhold/sdk/rawjson"
)

// counters count what one scratch of this process did.
type counters struct {
	hits, hitBytes           atomic.Int64
	sourceReads, sourceBytes atomic.Int64
	filled, filledBytes      atomic.Int64
	adopted                  atomic.Int64
	bypassed, waited         atomic.Int64
	damaged, unreadable      atomic.Int64
	changed, missing         atomic.Int64
	noSpace, settled         atomic.Int64
}

// Stats says what a scratch is and what it did, for this process.
type Stats struct {
	Name string // of the file; "" of a scratch in memory, or of one that found no room
	// Keys, Images and Runs are all that the locations name; Eligible are the
	// images for which there is room, Present those of them that are there,
	// PresentBytes their size.
	Keys, Images, Runs, Eligible, Present, PresentBytes int64
	Budget                                              int64 // bytes of pixels that may be held, at most what all take

	Hits, HitBytes           int64 // images, and bytes, that came from the scratch
	SourceReads, SourceBytes int64 // reads of sources, for whatever purpose
	Filled, FilledBytes      int64 // runs taken in
	Adopted                  int64 // of those, runs of which no image came from its source but from another scratch
	Bypassed                 int64 // reads that went to the source because another process was taking in the run
	Waited                   int64 // reads that waited for another of this process to take in the run
	Damaged                  int64 // runs whose checksum was wrong
	Unreadable               int64 // reads of the file that failed
	Changed                  int64 // sources that were found changed
	Missing                  int64 // sources that were not to be found when the scratch was made
	NoSpace                  int64 // runs that found no space
	Settled                  int64 // times that a source was waited for
}

// Stats counts. It goes through the states of all runs.
func (s *ImageScratch) Stats() Stats {
	c := s.count
	st := Stats{
		Name: s.name, Keys: int64(len(s.layout.keys)), Images: s.layout.images, Runs: s.layout.runs, Budget: min(s.quota, s.layout.bytes),
		Hits: c.hits.Load(), HitBytes: c.hitBytes.Load(), SourceReads: c.sourceReads.Load(), SourceBytes: c.sourceBytes.Load(),
		Filled: c.filled.Load(), FilledBytes: c.filledBytes.Load(), Adopted: c.adopted.Load(), Bypassed: c.bypassed.Load(),
		Waited: c.waited.Load(), Damaged: c.damaged.Load(), Unreadable: c.unreadable.Load(), Changed: c.changed.Load(),
		Missing: c.missing.Load(), NoSpace: c.noSpace.Load(), Settled: c.settled.Load(),
	}
	_, st.Eligible = s.layout.fitting(s.quota)
	if s.retain() != nil {
		return st
	}
	defer s.release()
	for r := range s.layout.all(s.quota) {
		if s.shelf.has(r) {
			st.Present += r.count
			st.PresentBytes += r.bytes
		}
	}
	return st
}

// WriteJSON implements [rawjson.Value].
func (s Stats) WriteJSON(w *rawjson.Writer) {
	w.Open('{')
	w.Name("name").String(s.Name)
	for _, n := range [...]struct {
		name  string
		value int64
	}{
		{"keys", s.Keys}, {"images", s.Images}, {"runs", s.Runs}, {"eligible", s.Eligible}, {"present", s.Present},
		{"present_bytes", s.PresentBytes}, {"budget", s.Budget}, {"hits", s.Hits}, {"hit_bytes", s.HitBytes},
		{"source_reads", s.SourceReads}, {"source_bytes", s.SourceBytes}, {"filled", s.Filled}, {"filled_bytes", s.FilledBytes},
		{"adopted", s.Adopted}, {"bypassed", s.Bypassed}, {"waited", s.Waited}, {"damaged", s.Damaged}, {"unreadable", s.Unreadable},
		{"changed", s.Changed}, {"missing", s.Missing}, {"no_space", s.NoSpace}, {"settled", s.Settled},
	} {
		w.Name(n.name).Int(n.value)
	}
	w.Close('}')
}
