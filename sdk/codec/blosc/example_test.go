package blosc_test

import (
	"fmt"
	"log"

	"github.com/gridhold/gridhold/sdk/codec/blosc"
)

func Example() {
	data := make([]byte, 64<<10)
	for i := range data {
		data[i] = byte(i / 4)
	}
	chunk, err := blosc.Encode(nil, data, blosc.Params{
		Codec: blosc.LZ4, Level: 5, TypeSize: 4, BlockSize: 16 << 10,
		Filters: []blosc.Filter{{ID: blosc.Shuffle}},
	})
	if err != nil {
		log.Fatal(err)
	}
	c, err := blosc.Open(chunk, blosc.Options{Limit: 1 << 20})
	if err != nil {
		log.Fatal(err)
	}
	block, err := c.DecodeBlock(3, nil)
	if err != nil {
		log.Fatal(err)
	}
	h := c.Header()
	fmt.Println(h.Size, h.Codec, h.Filters[0].ID, c.Blocks(), len(block), block[40])
	// Output: 65536 lz4 shuffle 4 16384 10
}
