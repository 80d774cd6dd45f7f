// Package file gives the ports of sdk/storage over the file system.
//
// Store serves the files of a directory as objects. No key and no symbolic
// link leads out of it, whatever happens to the directory meanwhile (os.Root).
// FS gives mutable files below a directory, Locker locks by name.
//
// # Freshness
//
// A Store keeps files open, so a warm read is one pread and one fstat. The
// fstat is what notices a change: a version is made of size, time of
// modification and of change, inode and device, and bytes of a version are
// handed out only if fstat still gives that version after they were read.
//
//   - A file replaced by rename has no links left: the name is opened anew.
//   - A file renamed away keeps its links: the name is looked up about once a
//     second (Options.Recheck), so until then its old bytes, under their old
//     version, may still be served.
//   - A file changed within the clock's tick in which it was looked at could
//     look unchanged. So a version is given out only when the last change is
//     20 ms old: a read without a wanted version waits that long at most, and
//     gives a version that no later one equals if the file is still being
//     written then. This is what git's index calls racily clean.
//   - A file system with coarser stamps (FAT: two seconds) hides a second
//     change of equal size within one of them.
//   - A network file system whose server's clock differs from ours, or whose
//     attributes are cached, weakens all of this to what it promises itself.
package file
