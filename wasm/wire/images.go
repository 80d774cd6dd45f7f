package wire

// FlagHere is a flag of images_read: images that lie in their file as they are
// given may be answered located.
const FlagHere = 1

// RowSize is the size of gh_row in bytes.
const RowSize = 48

// KeptSize is the size of gh_kept in bytes.
const KeptSize = 48
