// Package scratch keeps copies of the images that a program goes back to: in
// memory, in a mapped file, or in a directory with a budget.
//
//	files := image.Files(fs, image.FilesOptions{})
//	s, err := scratch.CreateDirectoryImageScratch(ctx, locations, fs, "scratch", 16, 200<<30, files, scratch.Options{Clock: clock.System{}})
//	defer s.Close()
//	done := scratch.PrefetchScratch(ctx, s, locations, scratch.NewExecutor(2), nil) // or not
//	err = s.ReadImages(ctx, "stack.mrcs", pixels, 7)
//
// Held images lie in runs of consecutive ones. A run is taken in whole, by the
// first who reads an image of it, or by a prefetch. What finds no room, and
// what cannot be taken in for whatever reason, is read from its file: nothing
// that befalls a scratch keeps an image from being read.
//
// # The file
//
// Little endian, in sections that begin on pages of 4096 bytes:
//
//	superblock  written once: magic 89 "GHS" 0D 0A 1A 0A, u16 layout 1 at 8, u32 page at 12, u64 run length at 16,
//	            u64 size of the file at 24, 16 bytes fingerprint at 32, u64 salt at 48, u64 keys, images, runs at 64,
//	            5 x {u64 offset, u64 bytes} of the sections below at 88, u32 CRC-32C of KEYS and INDEX at 168,
//	            u32 CRC-32C of all before at 4092
//	dynamic     i64 last used, ns since 1970; u64 boot of its writers, 2^64-1 of several; i64 bytes of DATA its users may fill
//	KEYS        96 bytes a file of images, in order of their names: u64 offset and u32 length of the name, u8 type, rank,
//	            core rank, image rank, 4 x u64 shape, u64 images, u64 held, u64 offset of the held ones in INDEX (0: the
//	            first ones), u64 first run, u64 offset in DATA, u8 1 if named whole; then the names
//	INDEX       u32 each, the images that are held, ascending
//	STAMPS      136 bytes a key: u64 {generation 32, which 1, check 16 at 48}; twice 64 bytes {i64 size, i64 mtime ns,
//	            i64 ctime ns, u64 device, u64 inode, u8 misfit, CRC-32C at 60}
//	STATE       u64 a run: {state 2, generation 14, CRC-32C 32, check 16}
//	DATA        the runs, each on a page: images one after another. It begins on a mebibyte if it is that long
//
// In a directory, the file's name is its fingerprint in hexadecimal digits:
// FNV-1a of 128 bits, of numbers in LEB128: the layout; for each key the length
// of its name and the name, then 0 and the run length if it was named whole, or
// else how many images are held, the lesser of that and the run length, and the
// first and the count of each stretch of them.
//
// It is laid out for all locations and sparse; a budget cuts it short, so one
// file serves every budget.
//
// A run is present if its word says so for the generation of its key. A writer
// holds the lock on byte 2^61 + run, makes the word 0, writes the pixels, and
// writes the word, in one go each; a reader looks at the word before and after.
// Who meets the lock reads the source. Another stamp of a source makes another
// generation, under the lock on byte 2^60 + key, and all of its runs absent at
// once. Everybody who uses the file holds byte 2^62 - 1 shared; who has it
// exclusively may remove it or cut it. The system frees the locks of a process
// that ends, so nothing has to be cleaned up after one that was killed. A loss of
// power may keep a run and lose the stamp of its generation, which is then given
// anew: who opens a file that was made before the system began makes runs of
// other generations than their keys' absent first, and syncs that.
//
// Checks are the upper half of a CRC-32C of the word, what it belongs to (the
// run, or the key's complement) and the salt, 8 bytes each.
package scratch
