package host

import (
	"context"
	"encoding/json"
	"time"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/scratch"
	"github.com/gridhold/gridhold/sdk/storage"
)

// statsJSON reads what [scratch.Stats] writes.
type statsJSON scratch.Stats

// UnmarshalJSON implements [json.Unmarshaler].
func (s *statsJSON) UnmarshalJSON(b []byte) error {
	var fields struct {
		Name                                                        string
		Keys, Images, Runs, Eligible, Present, Budget, Hits, Filled int64
		PresentBytes                                                int64 `json:"present_bytes"`
		HitBytes                                                    int64 `json:"hit_bytes"`
		SourceReads                                                 int64 `json:"source_reads"`
		SourceBytes                                                 int64 `json:"source_bytes"`
		FilledBytes                                                 int64 `json:"filled_bytes"`
		Adopted, Bypassed, Waited, Damaged, Unreadable, Changed     int64
		Missing, Settled                                            int64
		NoSpace                                                     int64 `json:"no_space"`
	}
	err := json.Unmarshal(b, &fields)
	f := &fields
	*s = statsJSON{
		Name: f.Name, Keys: f.Keys, Images: f.Images, Runs: f.Runs, Eligible: f.Eligible, Present: f.Present, PresentBytes: f.PresentBytes,
		Budget: f.Budget, Hits: f.Hits, HitBytes: f.HitBytes, SourceReads: f.SourceReads, SourceBytes: f.SourceBytes,
		Filled: f.Filled, FilledBytes: f.FilledBytes, Adopted: f.Adopted, Bypassed: f.Bypassed, Waited: f.Waited, Damaged: f.Damaged,
		Unreadable: f.Unreadable, Changed: f.Changed, Missing: f.Missing, NoSpace: f.NoSpace, Settled: f.Settled,
	}
	return err
}

// statusJSON reads what [scratch.Status] writes.
type statusJSON scratch.Status

// UnmarshalJSON implements [json.Unmarshaler].
func (s *statusJSON) UnmarshalJSON(b []byte) error {
	var f struct {
		Name                                string
		Size, Allocated                     int64
		LastUsed                            int64 `json:"last_used_ns"`
		InUse                               bool  `json:"in_use"`
		Broken                              string
		RunLength                           int64 `json:"run_length"`
		Keys, Images, Runs, Present, Budget int64
		PresentRuns                         int64 `json:"present_runs"`
		PresentBytes                        int64 `json:"present_bytes"`
	}
	err := json.Unmarshal(b, &f)
	*s = statusJSON{
		Name: f.Name, Size: f.Size, Allocated: f.Allocated, LastUsed: time.Unix(0, f.LastUsed), InUse: f.InUse, Broken: f.Broken,
		RunLength: f.RunLength, Keys: f.Keys, Images: f.Images, Runs: f.Runs, Present: f.Present, PresentRuns: f.PresentRuns,
		PresentBytes: f.PresentBytes, Budget: f.Budget,
	}
	return err
}

// aboutScratches carries out a deed about files of scratches.
func (s *Sandbox) aboutScratches(ctx context.Context, fs storage.FS, d scratchDeed, result any) error {
	if fs == nil {
		return fault.New(fault.ErrInvalid, "sandbox", "file system", "is nil")
	}
	d.FS = s.systems.add(fs)
	defer s.systems.remove(d.FS)
	in, err := s.take(ctx)
	if err != nil {
		return err
	}
	defer s.put(in)
	return in.scratchDo(ctx, d, result)
}

// InspectScratch is [scratch.Inspect].
func (s *Sandbox) InspectScratch(ctx context.Context, fs storage.FS, name string) (st scratch.Status, err error) {
	return st, s.aboutScratches(ctx, fs, scratchDeed{Do: "status", Name: name}, (*statusJSON)(&st))
}

// ListScratches is [scratch.List].
func (s *Sandbox) ListScratches(ctx context.Context, fs storage.FS, directory string) (all []scratch.Status, err error) {
	var list []statusJSON
	err = s.aboutScratches(ctx, fs, scratchDeed{Do: "list", Name: directory}, &list)
	for _, st := range list {
		all = append(all, scratch.Status(st))
	}
	return all, err
}

// VerifyScratch is [scratch.Verify]; what is damaged is reported once all was
// read.
func (s *Sandbox) VerifyScratch(ctx context.Context, fs storage.FS, name string, report func(scratch.Damage)) (checked int64, err error) {
	var found struct {
		Checked int64
		Damaged []scratch.Damage
	}
	err = s.aboutScratches(ctx, fs, scratchDeed{Do: "verify", Name: name}, &found)
	for _, d := range found.Damaged {
		report(d)
	}
	return found.Checked, err
}

// CollectScratches is [scratch.Collect].
func (s *Sandbox) CollectScratches(ctx context.Context, fs storage.FS, directory string, budget int64) (c scratch.Collected, err error) {
	return c, s.aboutScratches(ctx, fs, scratchDeed{Do: "collect", Name: directory, Budget: &budget}, &c)
}
