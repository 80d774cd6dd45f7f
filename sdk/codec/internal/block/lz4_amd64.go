package block

// A match of a few bytes that comes from a few bytes before reads what several
// stores have just written. None of them has all of it, so the processor waits
// until they are in its cache: most of the time of a decoder of short matches.
// The kernel, for processors whose AVX-512 permutes bytes, keeps the last
// lz4History bytes of output in a register. A sequence is put to them by one
// permutation, of that register and of a second one, which has the literals and
// what comes from farther away. Which byte goes where is a row of lz4Turns, read
// from an offset that is the length. So neither distances nor lengths are
// branches, which would often be guessed wrong.

const (
	lz4History = 64
	lz4Row     = 2 * lz4History // bytes of a row: those before a match, and after it begins
	lz4Rows    = lz4History + 2
	lz4Ahead   = 32      // bytes of output that are there for a sequence of the kernel
	lz4Once    = 1 << 20 // bytes for which the kernel is called: it cannot be preempted
)

// lz4Turns has a row for each distance up to lz4History. It is numbers of bytes:
// of those of the history, and then of what follows them, which turns where the
// distance is short. For longer ones the last row has bytes of the upper half of
// the second register; row 0 just goes on, for copies of another kind. Behind the
// rows is, for each distance, how many bytes of a history are whole turns.
var lz4Turns = func() *[lz4Rows*lz4Row + lz4History + 1]byte {
	t := new([lz4Rows*lz4Row + lz4History + 1]byte)
	for distance := range lz4Rows {
		row := t[distance*lz4Row:][:lz4Row]
		for k := range row {
			switch {
			case k < lz4History || distance == 0:
				row[k] = byte(k)
			case distance > lz4History:
				row[k] = byte(k + lz4History/2)
			default:
				row[k] = byte(lz4History - distance + (k-lz4History)%distance)
			}
		}
		if 0 < distance && distance <= lz4History {
			t[lz4Rows*lz4Row+distance] = byte(lz4History - lz4History%distance)
		}
	}
	return t
}()

// lz4Quick is whether there is the kernel.
var lz4Quick = hasVBMI()

// hasVBMI reports whether processor and system have AVX-512 that permutes bytes.
func hasVBMI() bool

// lz4Sequences is lz4Run by the kernel. It may end earlier, where it has not the
// room for registers as a whole, but touches nothing outside dst and src. The
// caller has checked lz4History <= at <= len(dst)-lz4Ahead and
// p <= len(src)-lz4In; turns is lz4Turns.
//
//go:noescape
func lz4Sequences(dst, src []byte, at, p int, turns *byte) (end, next int)

// lz4Sprint is lz4Run, by the kernel where there is one.
func lz4Sprint(dst, src []byte, at, p int) (int, int) {
	if !lz4Quick {
		return lz4Run(dst, src, at, p)
	}
	if at < lz4History {
		at, p = lz4Run(dst[:min(len(dst), lz4History+lz4Out)], src, at, p)
	}
	for at >= lz4History && p <= len(src)-lz4In {
		from, until := at, min(len(dst), at+lz4Once)
		if at > until-lz4Ahead {
			break
		}
		if at, p = lz4Sequences(dst[:until], src, at, p, &lz4Turns[0]); at == from || until == len(dst) {
			break
		}
	}
	return at, p
}
