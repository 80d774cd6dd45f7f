#include "textflag.h"
#include "go_asm.h"

// The search of lz4_encode.go, once for each kind of table. SLOT makes AX the
// place of the bytes in DX; LOOK makes R12 the position that is there, KEEP puts
// one there, FAR leaves for elsewhere if R12 is too far away.

#define SLOT \
	IMUL3L $0x9e3779b1, DX, AX; \
	SHRL   $19, AX
#define LOOK MOVWLZX (BX)(AX*2), R12
#define KEEP(position) MOVW position, (BX)(AX*2)
#define FAR(elsewhere)

// func lz4Search16(dst, src *byte, table *uint16, n, stop, stride int, walk *lz4Walk)
TEXT ·lz4Search16(SB), NOSPLIT, $0-56
#include "lz4_encode_amd64.h"

#undef SLOT
#undef LOOK
#undef KEEP
#undef FAR

#define SLOT \
	MOVQ  DX, AX;  \
	SHLQ  $24, AX; \
	IMULQ R14, AX; \
	SHRQ  $52, AX
#define LOOK MOVL (BX)(AX*4), R12
#define KEEP(position) MOVL position, (BX)(AX*4)
#define FAR(elsewhere) \
	MOVQ R8, AX;        \
	SUBQ R12, AX;       \
	CMPQ AX, $0xffff;   \
	JHI  elsewhere

// func lz4Search32(dst, src *byte, table *uint32, n, stop, stride int, walk *lz4Walk)
TEXT ·lz4Search32(SB), NOSPLIT, $0-56
	MOVQ $889523592379, R14
#include "lz4_encode_amd64.h"
