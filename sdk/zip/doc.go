// Package zip reads zip archives where they lie: a directory of members,
// parsed within limits, and a storage.Store of an archive that is an object
// of another store.
//
//	local header | bytes of member 0 | local header | bytes of member 1 | … | directory | end
//
// A stored member is read in place, range by range. A deflated one is read
// and decoded whole, and kept for a while. Names that lead elsewhere, members
// that overlap, and sizes that cannot be are refused when the archive is
// opened.
//
//	st, err := zip.Open(ctx, inner, "data.zarr.zip", zip.Options{})
//	array, err := zarr.OpenArray(ctx, st, "", zarr.Options{})
//
// Format: https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT
package zip
