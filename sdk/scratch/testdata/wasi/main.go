// Command wasi reads images through the scratch "scr" of the directory that
// is its root, which others fill meanwhile: stacks "0", "1", ... of so many
// images each, as its arguments say. It needs nothing of its host but to open
// files and to read them. Every first pixel is checked.
package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"

	"github.com/gridhold/gridhold/native/file"
	"github.com/gridhold/gridhold/sdk/image"
	"github.com/gridhold/gridhold/sdk/scratch"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	stacks, err := strconv.Atoi(os.Args[1])
	if err != nil {
		return err
	}
	images, err := strconv.Atoi(os.Args[2])
	if err != nil {
		return err
	}
	fs, err := file.OpenFS("/")
	if err != nil {
		return err
	}
	locations, err := image.GroupLocations(func(yield func(image.ImageLocation) bool) {
		for i := range stacks {
			if !yield(image.ImageLocation{Key: strconv.Itoa(i) + ".mrcs", Index: image.WholeFile}) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	s, err := scratch.CreateMappedFileImageScratch(ctx, locations, fs, "scr", 4, scratch.Everything,
		image.Files(fs, image.FilesOptions{}), scratch.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	for {
		for _, n := range rand.Perm(stacks * images) {
			stack, index := n/images, n%images
			is, _ := s.Describe(strconv.Itoa(stack) + ".mrcs")
			b := make([]byte, is.ImageBytes())
			if err := s.ReadImages(ctx, strconv.Itoa(stack)+".mrcs", b, int64(index)); err != nil {
				return err
			}
			if got := math.Float32frombits(binary.LittleEndian.Uint32(b)); got != float32(n) {
				return fmt.Errorf("image %d of stack %d begins with %v", index, stack, got)
			}
		}
		// Whoever fills it waits for this line before the next part, and is
		// done when all is there.
		fmt.Println("epoch")
		if st := s.Stats(); st.Present == st.Images {
			fmt.Println(st.Hits, st.SourceReads, st.Damaged, st.Unreadable)
			return s.Close()
		}
	}
}
