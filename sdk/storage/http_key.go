package storage

// EscapeKey returns key as the path of a URL: every byte of its UTF-8 outside
// letters, digits, "-", ".", "_", "~" and "/" is percent-encoded, so that each
// key has one spelling and no two keys share one (RFC 3986, section 2.3).
func EscapeKey(key string) string {
	const hex = "0123456789ABCDEF"
	b := make([]byte, 0, len(key)+16)
	for i := 0; i < len(key); i++ {
		c := key[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9',
			c == '-', c == '.', c == '_', c == '~', c == '/':
			b = append(b, c)
		default:
			b = append(b, '%', hex[c>>4], hex[c&15])
		}
	}
	return string(b)
}
