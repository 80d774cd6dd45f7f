//go:build !gridhold_guest

package image

import (
	"context"
	"encoding/binary"
	"math"
	"strconv"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
)

// MRCLayout is what a new MRC file holds.
type MRCLayout struct {
	Type          Type // one of the first eight
	Columns, Rows int32
	// Volume is how many sections one volume has; 0: the file is a stack of
	// images. One volume makes a volume, several a stack of volumes.
	Volume       int32
	PixelSize    float64 // in Å; 0: not known
	Extended     []byte  // the extended header, as it is stored
	ExtendedType string  // the tag that says what it is, up to 4 characters
	Labels       []string
}

// MRCWriter writes one MRC file, section after section. Not for concurrent
// use.
type MRCWriter struct {
	file     storage.File
	layout   MRCLayout
	off      int64 // of the next section
	sections int64
	section  int64 // bytes
}

// NewMRCWriter begins an MRC file in an empty file, which stays the caller's
// to close. Until Finish it is no valid MRC file, so that nobody takes what is
// written by halves for the whole. ErrInvalid for a layout that cannot be.
func NewMRCWriter(f storage.File, l MRCLayout) (*MRCWriter, error) {
	_, known := mrcModeOf(l.Type)
	switch {
	case !known:
		return nil, fault.New(fault.ErrInvalid, "mrc", "", "the format has no pixels of type "+l.Type.String())
	case l.Columns < 1 || l.Rows < 1 || l.Volume < 0:
		return nil, fault.New(fault.ErrInvalid, "mrc", "", "sections of no size")
	case len(l.Extended) > math.MaxInt32 || len(l.ExtendedType) > 4 || len(l.Labels) > 10:
		return nil, fault.New(fault.ErrInvalid, "mrc", "", "more in the header than it holds")
	}
	w := &MRCWriter{file: f, layout: l, off: mrcHeaderSize + int64(len(l.Extended))}
	w.section = checkedBytes(int64(l.Type.Size()), []int64{int64(l.Columns), int64(l.Rows)})
	if w.section < 0 {
		return nil, fault.New(fault.ErrInvalid, "mrc", "", "sizes beyond 63 bits")
	}
	// The place of the header stays zeros, which no reader takes for one.
	_, err := f.WriteAt(append(make([]byte, mrcHeaderSize), l.Extended...), 0)
	return w, err
}

// mrcModeOf returns the mode that holds pixels of a type.
func mrcModeOf(t Type) (mode int32, known bool) {
	if t == Uint8 {
		return 0, true // with IMOD's mark; 101 would lose half of the bits
	}
	for mode, m := range mrcModes {
		if m.t == t {
			return mode, true
		}
	}
	return 0, false
}

// Write appends sections: little-endian pixels, whole sections. ErrInvalid
// for a part of one, and once there are more than the format counts.
func (w *MRCWriter) Write(ctx context.Context, pixels []byte) error {
	n := int64(len(pixels)) / w.section
	if n*w.section != int64(len(pixels)) || n > math.MaxInt32-w.sections {
		return fault.New(fault.ErrInvalid, "mrc", "", "not whole sections of "+strconv.FormatInt(w.section, 10)+" bytes")
	}
	if err := storage.Ended(ctx, "mrc"); err != nil {
		return err
	}
	if _, err := w.file.WriteAt(pixels, w.off); err != nil {
		return err
	}
	w.off += int64(len(pixels))
	w.sections += n
	return nil
}

// Finish writes the header, after which the file is whole. ErrInvalid where
// the last volume is not.
func (w *MRCWriter) Finish(ctx context.Context) error {
	if err := storage.Ended(ctx, "mrc"); err != nil {
		return err
	}
	if w.layout.Volume > 0 && (w.sections == 0 || w.sections%int64(w.layout.Volume) != 0) {
		return fault.New(fault.ErrInvalid, "mrc", "", strconv.FormatInt(w.sections, 10)+" sections, of volumes of "+strconv.Itoa(int(w.layout.Volume)))
	}
	_, err := w.file.WriteAt(w.header(), 0)
	return err
}

func (w *MRCWriter) header() []byte {
	h, l := make([]byte, mrcHeaderSize), w.layout
	i32 := func(off int, values ...int32) {
		for i, v := range values {
			binary.LittleEndian.PutUint32(h[off+4*i:], uint32(v))
		}
	}
	f32 := func(off int, values ...float64) {
		for i, v := range values {
			binary.LittleEndian.PutUint32(h[off+4*i:], math.Float32bits(float32(v)))
		}
	}
	mode, _ := mrcModeOf(l.Type)
	nz := int32(w.sections)
	mz, group := int32(1), int32(0)
	switch {
	case l.Volume > 0 && nz == l.Volume:
		mz, group = nz, 1
	case l.Volume > 0:
		mz, group = l.Volume, 401
	}
	i32(0, l.Columns, l.Rows, nz, mode)
	i32(28, l.Columns, l.Rows, mz)
	f32(40, l.PixelSize*float64(l.Columns), l.PixelSize*float64(l.Rows), l.PixelSize*float64(mz), 90, 90, 90)
	i32(64, 1, 2, 3)
	f32(76, 0, -1, -2) // the statistics are not computed
	f32(216, -1)
	i32(88, group, int32(len(l.Extended)))
	copy(h[104:108], l.ExtendedType)
	i32(108, 20141)
	if l.Type == Uint8 {
		const imod = 1146047817
		i32(152, imod, 0)
	}
	copy(h[208:], "MAP \x44\x44\x00\x00")
	i32(220, int32(len(l.Labels)))
	for i, label := range l.Labels {
		copy(h[224+80*i:304+80*i], label)
	}
	return h
}
