#include "textflag.h"

// func hasAVX512() bool
TEXT ·hasAVX512(SB), NOSPLIT, $0-1
	MOVB $0, ret+0(FP)
	XORL AX, AX
	CPUID
	CMPL AX, $7
	JLT  no
	MOVL $1, AX
	XORL CX, CX
	CPUID
	ANDL $0x18000000, CX // OSXSAVE, AVX
	CMPL CX, $0x18000000
	JNE  no
	XORL CX, CX
	XGETBV
	ANDL $0xe6, AX       // the system saves all of the registers
	CMPL AX, $0xe6
	JNE  no
	MOVL $7, AX
	XORL CX, CX
	CPUID
	ANDL $0x40010000, BX // F, BW
	CMPL BX, $0x40010000
	JNE  no
	MOVB $1, ret+0(FP)

no:
	RET

// The highest bit of each byte to a row; the next one takes its place.
#define BIT(mask, row) \
	VPMOVB2M Z0, mask;     \
	VPADDB   Z0, Z0, Z0;   \
	KMOVQ    mask, row

// func splitAVX512(rows, lane *byte, pitch, count int)
TEXT ·splitAVX512(SB), NOSPLIT, $0-32
	MOVQ rows+0(FP), DI
	MOVQ lane+8(FP), SI
	MOVQ pitch+16(FP), DX
	MOVQ count+24(FP), BX
	LEAQ (DX)(DX*2), R8
	LEAQ (DI)(R8*1), R9   // row 3
	LEAQ (R9)(R8*1), R10  // row 6

split:
	VMOVDQU64 (SI), Z0
	BIT(K1, (R10)(DX*1))
	BIT(K2, (R10))
	BIT(K3, (R9)(DX*2))
	BIT(K4, (R9)(DX*1))
	BIT(K5, (R9))
	BIT(K6, (DI)(DX*2))
	BIT(K7, (DI)(DX*1))
	BIT(K1, (DI))
	ADDQ      $64, SI
	ADDQ      $8, DI
	ADDQ      $8, R9
	ADDQ      $8, R10
	SUBQ      $64, BX
	JNZ       split
	VZEROUPPER
	RET
