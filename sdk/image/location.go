package image

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/gridhold/gridhold/sdk/fault"
)

// WholeFile is the Index of a location that means all of a file.
const WholeFile int64 = -1

// ImageLocation names one image, or one file.
type ImageLocation struct {
	// Key names the file. Nothing about it is normalised: "./a" and "a" are
	// two keys.
	Key string
	// Index counts the images of the file from 0, or is WholeFile. Index 0 is
	// the first image, never the whole file.
	Index int64
}

// IsWhole reports whether the location means all of its file.
func (l ImageLocation) IsWhole() bool { return l.Index == WholeFile }

// Compare orders locations by the bytes of the key, then by index; a whole
// file comes after every image of it.
func (l ImageLocation) Compare(m ImageLocation) int {
	if c := cmp.Compare(l.Key, m.Key); c != 0 {
		return c
	}
	return cmp.Compare(uint64(l.Index), uint64(m.Index)) // WholeFile becomes the greatest
}

// String writes the location as tables do: the index from 1, in six digits at
// least, and "@"; the key alone for a whole file.
func (l ImageLocation) String() string {
	if l.IsWhole() {
		return l.Key
	}
	n := strconv.FormatUint(uint64(l.Index)+1, 10)
	return strings.Repeat("0", max(6-len(n), 0)) + n + "@" + l.Key
}

// ParseLocation reads "INDEX@KEY", with the index from 1 in any number of
// digits, or a key alone, which means the whole file. Only the first "@"
// counts: "1@2@x" is the first image of "2@x".
//
// ErrInvalid for an index that is 0, missing, not a number in plain digits or
// more than 63 bits hold, and for a missing key.
func ParseLocation(text string) (ImageLocation, error) {
	at := strings.IndexByte(text, '@')
	if at < 0 {
		if text == "" {
			return ImageLocation{}, badLocation(text, "it is empty")
		}
		return ImageLocation{text, WholeFile}, nil
	}
	var n int64
	for i := range at {
		d := int64(text[i]) - '0'
		if d < 0 || d > 9 {
			return ImageLocation{}, badLocation(text, "what stands before the @ is not a number")
		}
		if n > (1<<63-1-d)/10 {
			return ImageLocation{}, badLocation(text, "the number is too large")
		}
		n = n*10 + d
	}
	switch {
	case at == 0:
		return ImageLocation{}, badLocation(text, "nothing stands before the @")
	case n == 0:
		return ImageLocation{}, badLocation(text, "images are counted from 1")
	case at == len(text)-1:
		return ImageLocation{}, badLocation(text, "nothing stands after the @")
	}
	return ImageLocation{text[at+1:], n - 1}, nil
}

func badLocation(text, why string) error {
	return fault.New(fault.ErrInvalid, "image location", strconv.Quote(text), why)
}
