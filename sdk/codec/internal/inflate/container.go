package inflate

import (
	"bytes"
	"encoding/binary"
	"hash/adler32"
	"hash/crc32"

	"github.com/gridhold/gridhold/sdk/fault"
)

// container is a stream with what is around it.
type container struct {
	name string
	// header returns the length of a header, 0 for a damaged one.
	header func(src []byte) int
	// trailer checks what follows the stream against the content; its length
	// is fixed.
	trailerSize int
	trailer     func(trailer, content []byte) bool
}

var zlib = container{"zlib", zlibHeader, 4, func(trailer, content []byte) bool {
	return binary.BigEndian.Uint32(trailer) == adler32.Checksum(content)
}}

var gzip = container{"gzip", gzipHeader, 8, func(trailer, content []byte) bool {
	return le.Uint32(trailer) == crc32.ChecksumIEEE(content) && le.Uint32(trailer[4:]) == uint32(len(content))
}}

// Zlib decodes one zlib stream to dst[at:] and returns where its content
// ends: ErrLimit if dst is too short, ErrCorrupt if src is damaged or wants a
// dictionary. Its Adler-32 is verified. Bytes after the stream are ignored,
// as zlib does. What lies in dst behind the content may be overwritten. It
// may be called by any number of goroutines at once.
func Zlib(dst []byte, at int, src []byte) (end int, err error) {
	end, _, err = zlib.decode(dst, at, src)
	return end, err
}

// Gzip is Zlib for one or more members of gzip, whose CRC-32 and size are
// verified. Nothing may follow the last.
func Gzip(dst []byte, at int, src []byte) (end int, err error) {
	for first := true; first || len(src) > 0; first = false {
		if at, src, err = gzip.decode(dst, at, src); err != nil {
			return 0, err
		}
	}
	return at, nil
}

// decode decodes one container to dst[at:] and returns where its content ends
// and what follows it.
func (c *container) decode(dst []byte, at int, src []byte) (int, []byte, error) {
	n := c.header(src)
	if n == 0 {
		return 0, nil, c.corrupt("the header is damaged")
	}
	end, used, err := inflate(dst, at, src[n:])
	if err == errCorrupt {
		err = c.corrupt(err.Error())
	}
	if err != nil {
		return 0, nil, err
	}
	src = src[n+used:]
	if len(src) < c.trailerSize || !c.trailer(src[:c.trailerSize], dst[at:end]) {
		return 0, nil, c.corrupt("the checksum is missing or wrong")
	}
	return end, src[c.trailerSize:], nil
}

func (c *container) corrupt(why string) error { return fault.New(fault.ErrCorrupt, c.name, "", why) }

func zlibHeader(src []byte) int {
	const deflate, dictionary = 8, 0x20
	if len(src) < 2 || src[0]&15 != deflate || src[0]>>4 > 7 || src[1]&dictionary != 0 || binary.BigEndian.Uint16(src)%31 != 0 {
		return 0
	}
	return 2
}

// gzipHeader skips the fields that may be there. RFC 1952, 2.3.
func gzipHeader(src []byte) int {
	const deflate, checksum, extra, name, comment = 8, 2, 4, 8, 16
	n := 10
	if len(src) < n || src[0] != 0x1f || src[1] != 0x8b || src[2] != deflate {
		return 0
	}
	flags := src[3]
	if flags&extra != 0 {
		if len(src) < n+2 {
			return 0
		}
		n += 2 + int(le.Uint16(src[n:]))
	}
	for _, text := range []byte{name, comment} {
		if flags&text == 0 {
			continue
		}
		if n > len(src) {
			return 0
		}
		k := bytes.IndexByte(src[n:], 0)
		if k < 0 {
			return 0
		}
		n += k + 1
	}
	if flags&checksum != 0 {
		if len(src) < n+2 || le.Uint16(src[n:]) != uint16(crc32.ChecksumIEEE(src[:n])) {
			return 0
		}
		n += 2
	}
	if n > len(src) {
		return 0
	}
	return n
}
