package file

// F_OFD_SETLK of <sys/fcntl.h>, which x/sys lacks. A kernel that does not know
// it answers EINVAL.
const setOFDLock = 90
