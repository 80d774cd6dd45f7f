package main

import (
	"bytes"
	"os"

	"github.com/gridhold/gridhold/sdk/fault"
	"github.com/gridhold/gridhold/sdk/zarr"
)

// packBegins is how an index pack begins, as far as no version of it differs.
var packBegins = []byte("GHINDEX")

// verifyPack verifies a file that is an index pack; ok is false for what is
// none.
func verifyPack(name string) (checked int64, damaged []zarr.Damage, ok bool, err error) {
	path, local := onThisMachine(name)
	if !local {
		return 0, nil, false, nil
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return 0, nil, false, nil // whoever opens it as something else says what is wrong
	}
	f, err := os.Open(path)
	if err != nil {
		return 0, nil, false, nil
	}
	defer f.Close()
	head := make([]byte, len(packBegins))
	if n, _ := f.ReadAt(head, 0); n < len(head) || !bytes.Equal(head, packBegins) {
		return 0, nil, false, nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, nil, true, err
	}
	p, err := zarr.ParseIndexPack(b)
	switch fault.CodeOf(err) {
	case 0:
		return p.Size().Shards, nil, true, nil
	case fault.CodeCorrupt, fault.CodeLimit:
		return 1, []zarr.Damage{damageOf(err)}, true, nil
	}
	return 0, nil, true, err
}
