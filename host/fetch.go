package host

import (
	"encoding/binary"
	"net/url"
	"strings"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/storage"
	"github.com/gridhold/gridhold/wasm/wire"
)

const fetchSize = 52

// fetch is the import fetch.
func fetch(c *callContext, args []uint64) (int32, error) {
	in := c.in
	if in.sandbox.config.Fetcher == nil {
		return 0, fault.New(fault.ErrUnsupported, "http", "", "the sandbox has no Fetcher")
	}
	req, err := in.window(args[1], fetchSize)
	if err != nil {
		return 0, err
	}
	var parts [5][]byte // method, url, header, body, answer
	for i := range parts {
		if parts[i], err = in.window(u64(req, 8*i), u64(req, 8*i+4)); err != nil {
			return 0, err
		}
	}
	body, answer := parts[3], parts[4]
	if g := in.sandbox.config.Grants; g != nil {
		u, err := url.Parse(string(parts[1]))
		if err == nil {
			err = g.AllowURL(u)
		}
		if err != nil {
			return 0, err
		}
	}
	r := storage.Request{Method: string(parts[0]), URL: string(parts[1]), Limit: int64(len(body))}
	for line := range strings.SplitSeq(string(parts[2]), "\r\n") {
		if name, value, ok := strings.Cut(line, ": "); ok {
			r.Header = append(r.Header, storage.Field{Name: name, Value: value})
		}
	}
	if r.Method != "GET" && r.Method != "HEAD" {
		return 0, fault.New(fault.ErrNotAllowed, "http", r.Method, "the core only reads")
	}
	resp, err := in.sandbox.config.Fetcher.Fetch(c.Context, r)
	if err == nil {
		err = c.read(int64(len(resp.Body)))
	}
	if err != nil {
		return 0, err
	}
	var header []byte
	for _, h := range resp.Header {
		// What does not fit is left out: it is not a header that the core reads.
		if len(header)+len(h.Name)+len(h.Value)+4 <= len(answer) {
			header = append(append(append(append(header, h.Name...), ": "...), h.Value...), "\r\n"...)
		}
	}
	copy(answer, header)
	n := copy(body, resp.Body)
	var flags uint32
	if resp.Truncated || n < len(resp.Body) {
		flags = wire.FetchCut
	}
	binary.LittleEndian.PutUint32(req[40:], uint32(resp.Status))
	binary.LittleEndian.PutUint32(req[44:], uint32(len(header)))
	binary.LittleEndian.PutUint32(req[48:], flags)
	return int32(n), nil
}
