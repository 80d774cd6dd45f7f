package storage

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gridhold/gridhold/sdk/fault"
)

// ValidKey reports whether key is well formed: UTF-8, not empty, no leading
// or trailing "/", no empty name, no "." or "..", no NUL and no "\".
func ValidKey(key string) bool {
	if key == "" || !utf8.ValidString(key) || strings.ContainsAny(key, "\x00\\") {
		return false
	}
	for rest := key; ; {
		name, after, more := strings.Cut(rest, "/")
		if name == "" || name == "." || name == ".." {
			return false
		}
		if !more {
			return true
		}
		rest = after
	}
}

// CheckKey returns ErrInvalid for a key that is not well formed.
func CheckKey(key string) error {
	if ValidKey(key) {
		return nil
	}
	return fault.New(fault.ErrInvalid, "store", strconv.Quote(key), "not a valid key")
}

func tooLarge(key string, limit int64) error {
	return fault.New(fault.ErrLimit, "store", key, "object has more than "+strconv.FormatInt(limit, 10)+" bytes")
}
