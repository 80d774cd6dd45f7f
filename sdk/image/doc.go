// Package image reads the image files of electron microscopy and the tables
// that point at them.
//
// An image is named by the key of its file and its index in it:
//
//	000003@Extract/job012/stack.mrcs    the third image of a stack
//	Class3D/job020/map.mrc              all of a volume
//
// Keys are opaque here: a [ReaderProvider] gives them a meaning. [Files] is
// the one that opens MRC files; a program may bring its own.
//
//	files := image.Files(fs, image.FilesOptions{Roots: []string{"project"}})
//	loc, err := image.ParseLocation("000003@Extract/job012/stack.mrcs")
//	r, err := files.Open(ctx, loc.Key)
//	pixels := make([]byte, r.Describe().ImageBytes())
//	err = r.ReadImages(ctx, pixels, loc.Index)
//
// Pixels are little endian, rows one after another, the column fastest, in
// the type of the file; a complex number is its real part, then its imaginary
// part. [Cast] turns them into another type.
//
// Sizes that a file states are held against its length before memory is
// taken. Files are read with ReadAt and never mapped, so that one that shrinks
// is a short read.
//
// MRC2014: https://www.ccpem.ac.uk/mrc_format/mrc2014.php.
// RELION STAR files: https://relion.readthedocs.io/en/latest/Reference/Conventions.html.
package image
