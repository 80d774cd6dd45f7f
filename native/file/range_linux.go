package file

import "golang.org/x/sys/unix"

const setOFDLock = unix.F_OFD_SETLK
