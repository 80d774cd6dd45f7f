package plugin

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// Finding is one thing that a self-test looked at.
type Finding struct {
	What string `json:"what"`
	Err  error  `json:"-"` // what is wrong; nil: nothing
	// Skipped says that there was nothing to look at.
	Skipped bool `json:"skipped,omitempty"`
}

// damages is how many damaged copies of a sample are tried.
const damages = 48

// maxSample bounds an array that a sample describes.
const maxSample = 64 << 20

// Check runs the plugin on the samples that it comes with, whole and damaged,
// within its limits. Only the end of ctx is an error.
func (p *Plugin) Check(ctx context.Context) ([]Finding, error) {
	var all []Finding
	found := func(what string, err error) { all = append(all, Finding{What: what, Err: err}) }
	for i, c := range p.about.Codecs {
		name := "codec " + strconv.Itoa(i)
		if len(c.Names) > 0 {
			name = "codec " + c.Names[0]
		}
		if c.Sample == nil {
			all = append(all, Finding{What: name + ": has no sample", Skipped: true})
			continue
		}
		b := &bytesCodec{plugin: p, number: i, name: name, configuration: c.Sample.Configuration}
		found(name+": unpacks its sample of "+itoa(len(c.Sample.Decoded))+" bytes", b.unpacks(ctx, c.Sample.Encoded, c.Sample.Decoded))
		if c.Encodes {
			packed, err := encoder{b}.Encode(nil, c.Sample.Decoded)
			if err == nil {
				err = b.unpacks(ctx, packed, c.Sample.Decoded)
			}
			found(name+": unpacks what it packs", err)
		}
		found(name+": refuses or unpacks "+itoa(damages)+" damaged samples", eachDamaged(c.Sample.Encoded, func(damaged []byte) error {
			_, err := b.Decode(ctx, nil, damaged, len(c.Sample.Decoded))
			return err
		}))
		if err := storage.Ended(ctx, p.name()); err != nil {
			return nil, err
		}
	}
	if r := p.about.Reader; r != nil && r.Sample == nil {
		all = append(all, Finding{What: "reader: has no sample", Skipped: true})
	} else if r != nil {
		found("reader: reads its sample of "+itoa(len(r.Sample.Object))+" bytes", p.reads(ctx, r.Sample.Key, r.Sample.Object))
		found("reader: refuses or reads "+itoa(damages)+" damaged samples", eachDamaged(r.Sample.Object, func(damaged []byte) error {
			return p.reads(ctx, r.Sample.Key, damaged)
		}))
	}
	return all, storage.Ended(ctx, p.name())
}

// unpacks compares what comes out of src, twice, on whichever instance.
func (b *bytesCodec) unpacks(ctx context.Context, src, want []byte) error {
	for range 2 {
		got, err := b.Decode(ctx, nil, src, len(want))
		switch {
		case err != nil:
			return err
		case !bytes.Equal(got, want):
			return b.plugin.fail(fault.ErrCorrupt, "other bytes come out")
		}
	}
	return nil
}

// reads opens an object and reads all of the array.
func (p *Plugin) reads(ctx context.Context, key string, object []byte) error {
	st := storage.NewMemory()
	st.Set(key, object)
	view, err := p.Array(ctx, st, key)
	if err != nil {
		return err
	}
	a, err := zarr.OpenArray(ctx, view, "", zarr.Options{Codecs: p, Limits: zarr.Limits{Chunk: maxSample}})
	if err != nil {
		return err
	}
	_, err = a.RetrieveRegion(ctx, make([]int64, len(a.Shape())), a.Shape(), zarr.ReadOptions{})
	return err
}

// eachDamaged calls f with copies of b, cut or with a byte changed, and
// returns the first error that is the plugin's fault: that it died, broke the
// contract or took too long, and not that it refused.
func eachDamaged(b []byte, f func(damaged []byte) error) error {
	for i := range damages {
		at := len(b) * i / damages
		damaged := slices.Clone(b[:at])
		if i%2 == 1 && at < len(b) {
			damaged = slices.Clone(b)
			damaged[at] ^= byte(1 + 37*i)
		}
		err := f(damaged)
		if errors.Is(err, fault.ErrInternal) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, fault.ErrClosed) {
			return err
		}
	}
	return nil
}
