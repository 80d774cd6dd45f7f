#include "textflag.h"

// Kernels for processors with AVX2. kernels_amd64.go says what each does.

// Of four elements of four bytes: the first bytes, the second, ...
DATA together4<>+0(SB)/8, $0x0d0905010c080400
DATA together4<>+8(SB)/8, $0x0f0b07030e0a0602
GLOBL together4<>(SB), RODATA|NOPTR, $16

// Of eight elements of two bytes.
DATA together2<>+0(SB)/8, $0x0e0c0a0806040200
DATA together2<>+8(SB)/8, $0x0f0d0b0907050301
GLOBL together2<>(SB), RODATA|NOPTR, $16

// Parts of four bytes from both halves of a register, in turn.
DATA turns<>+0(SB)/8, $0x0000000400000000
DATA turns<>+8(SB)/8, $0x0000000500000001
DATA turns<>+16(SB)/8, $0x0000000600000002
DATA turns<>+24(SB)/8, $0x0000000700000003
GLOBL turns<>(SB), RODATA|NOPTR, $32

DATA each1<>+0(SB)/8, $0x5555555555555555
GLOBL each1<>(SB), RODATA|NOPTR, $8
DATA each2<>+0(SB)/8, $0x3333333333333333
GLOBL each2<>(SB), RODATA|NOPTR, $8
DATA each4<>+0(SB)/8, $0x0f0f0f0f0f0f0f0f
GLOBL each4<>(SB), RODATA|NOPTR, $8

// func hasAVX2() bool
TEXT ·hasAVX2(SB), NOSPLIT, $0-1
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
	ANDL $6, AX          // the system saves XMM and YMM
	CMPL AX, $6
	JNE  no
	MOVL $7, AX
	XORL CX, CX
	CPUID
	SHRL $5, BX
	ANDL $1, BX
	MOVB BX, ret+0(FP)

no:
	RET

// Y0 to Y3 hold 32 elements of four bytes; then a row of each byte.
#define SPLIT4 \
	VPSHUFB     Y14, Y0, Y0;       \
	VPSHUFB     Y14, Y1, Y1;       \
	VPSHUFB     Y14, Y2, Y2;       \
	VPSHUFB     Y14, Y3, Y3;       \
	VPERMD      Y0, Y15, Y0;       \
	VPERMD      Y1, Y15, Y1;       \
	VPERMD      Y2, Y15, Y2;       \
	VPERMD      Y3, Y15, Y3;       \
	VPUNPCKLQDQ Y1, Y0, Y4;        \
	VPUNPCKHQDQ Y1, Y0, Y5;        \
	VPUNPCKLQDQ Y3, Y2, Y6;        \
	VPUNPCKHQDQ Y3, Y2, Y7;        \
	VPERM2I128  $0x20, Y6, Y4, Y0; \
	VPERM2I128  $0x20, Y7, Y5, Y1; \
	VPERM2I128  $0x31, Y6, Y4, Y2; \
	VPERM2I128  $0x31, Y7, Y5, Y3

// The inverse but for the order of elements: 0-3 and 16-19, 4-7 and 20-23,
// 8-11 and 24-27, 12-15 and 28-31.
#define JOIN4 \
	VPUNPCKLBW Y1, Y0, Y4; \
	VPUNPCKHBW Y1, Y0, Y5; \
	VPUNPCKLBW Y3, Y2, Y6; \
	VPUNPCKHBW Y3, Y2, Y7; \
	VPUNPCKLWD Y6, Y4, Y0; \
	VPUNPCKHWD Y6, Y4, Y1; \
	VPUNPCKLWD Y7, Y5, Y2; \
	VPUNPCKHWD Y7, Y5, Y3

// func split2AVX2(rows, elements *byte, pitch, count int)
TEXT ·split2AVX2(SB), NOSPLIT, $0-32
	MOVQ           rows+0(FP), DI
	MOVQ           elements+8(FP), SI
	MOVQ           pitch+16(FP), DX
	MOVQ           count+24(FP), BX
	VBROADCASTI128 together2<>(SB), Y14

split2:
	VMOVDQU    (SI), Y0
	VMOVDQU    32(SI), Y1
	VPSHUFB    Y14, Y0, Y0
	VPSHUFB    Y14, Y1, Y1
	VPERMQ     $0xd8, Y0, Y0
	VPERMQ     $0xd8, Y1, Y1
	VPERM2I128 $0x20, Y1, Y0, Y2
	VPERM2I128 $0x31, Y1, Y0, Y3
	VMOVDQU    Y2, (DI)
	VMOVDQU    Y3, (DI)(DX*1)
	ADDQ       $64, SI
	ADDQ       $32, DI
	SUBQ       $32, BX
	JNZ        split2
	VZEROUPPER
	RET

// func join2AVX2(elements, rows *byte, pitch, count int)
TEXT ·join2AVX2(SB), NOSPLIT, $0-32
	MOVQ elements+0(FP), DI
	MOVQ rows+8(FP), SI
	MOVQ pitch+16(FP), DX
	MOVQ count+24(FP), BX

join2:
	VMOVDQU    (SI), Y0
	VMOVDQU    (SI)(DX*1), Y1
	VPUNPCKLBW Y1, Y0, Y2
	VPUNPCKHBW Y1, Y0, Y3
	VPERM2I128 $0x20, Y3, Y2, Y0
	VPERM2I128 $0x31, Y3, Y2, Y1
	VMOVDQU    Y0, (DI)
	VMOVDQU    Y1, 32(DI)
	ADDQ       $32, SI
	ADDQ       $64, DI
	SUBQ       $32, BX
	JNZ        join2
	VZEROUPPER
	RET

// func split4AVX2(rows, elements *byte, pitch, count int)
TEXT ·split4AVX2(SB), NOSPLIT, $0-32
	MOVQ           rows+0(FP), DI
	MOVQ           elements+8(FP), SI
	MOVQ           pitch+16(FP), DX
	MOVQ           count+24(FP), BX
	LEAQ           (DX)(DX*2), R8
	VBROADCASTI128 together4<>(SB), Y14
	VMOVDQU        turns<>(SB), Y15

split4:
	VMOVDQU (SI), Y0
	VMOVDQU 32(SI), Y1
	VMOVDQU 64(SI), Y2
	VMOVDQU 96(SI), Y3
	SPLIT4
	VMOVDQU Y0, (DI)
	VMOVDQU Y1, (DI)(DX*1)
	VMOVDQU Y2, (DI)(DX*2)
	VMOVDQU Y3, (DI)(R8*1)
	ADDQ    $128, SI
	ADDQ    $32, DI
	SUBQ    $32, BX
	JNZ     split4
	VZEROUPPER
	RET

// Four elements, CX bytes apart.
#define LOAD4(X) \
	VMOVD   (SI), X;               \
	VPINSRD $1, (SI)(CX*1), X, X;  \
	VPINSRD $2, (SI)(CX*2), X, X;  \
	VPINSRD $3, (SI)(R9*1), X, X;  \
	LEAQ    (SI)(CX*4), SI

#define STORE4(X) \
	VMOVD   X, (DI);               \
	VPEXTRD $1, X, (DI)(CX*1);     \
	VPEXTRD $2, X, (DI)(CX*2);     \
	VPEXTRD $3, X, (DI)(R9*1);     \
	LEAQ    (DI)(CX*4), DI

// func split4ofAVX2(rows, elements *byte, pitch, count, size int)
TEXT ·split4ofAVX2(SB), NOSPLIT, $0-40
	MOVQ           rows+0(FP), DI
	MOVQ           elements+8(FP), SI
	MOVQ           pitch+16(FP), DX
	MOVQ           count+24(FP), BX
	MOVQ           size+32(FP), CX
	LEAQ           (DX)(DX*2), R8
	LEAQ           (CX)(CX*2), R9
	VBROADCASTI128 together4<>(SB), Y14
	VMOVDQU        turns<>(SB), Y15

split4of:
	LOAD4(X0)
	LOAD4(X4)
	LOAD4(X1)
	LOAD4(X5)
	LOAD4(X2)
	LOAD4(X6)
	LOAD4(X3)
	LOAD4(X7)
	VINSERTI128 $1, X4, Y0, Y0
	VINSERTI128 $1, X5, Y1, Y1
	VINSERTI128 $1, X6, Y2, Y2
	VINSERTI128 $1, X7, Y3, Y3
	SPLIT4
	VMOVDQU     Y0, (DI)
	VMOVDQU     Y1, (DI)(DX*1)
	VMOVDQU     Y2, (DI)(DX*2)
	VMOVDQU     Y3, (DI)(R8*1)
	ADDQ        $32, DI
	SUBQ        $32, BX
	JNZ         split4of
	VZEROUPPER
	RET

// func join4AVX2(elements, rows *byte, pitch, count int)
TEXT ·join4AVX2(SB), NOSPLIT, $0-32
	MOVQ elements+0(FP), DI
	MOVQ rows+8(FP), SI
	MOVQ pitch+16(FP), DX
	MOVQ count+24(FP), BX
	LEAQ (DX)(DX*2), R8

join4:
	VMOVDQU    (SI), Y0
	VMOVDQU    (SI)(DX*1), Y1
	VMOVDQU    (SI)(DX*2), Y2
	VMOVDQU    (SI)(R8*1), Y3
	JOIN4
	VPERM2I128 $0x20, Y1, Y0, Y4
	VPERM2I128 $0x20, Y3, Y2, Y5
	VPERM2I128 $0x31, Y1, Y0, Y6
	VPERM2I128 $0x31, Y3, Y2, Y7
	VMOVDQU    Y4, (DI)
	VMOVDQU    Y5, 32(DI)
	VMOVDQU    Y6, 64(DI)
	VMOVDQU    Y7, 96(DI)
	ADDQ       $32, SI
	ADDQ       $128, DI
	SUBQ       $32, BX
	JNZ        join4
	VZEROUPPER
	RET

// func join4ofAVX2(elements, rows *byte, pitch, count, size int)
TEXT ·join4ofAVX2(SB), NOSPLIT, $0-40
	MOVQ elements+0(FP), DI
	MOVQ rows+8(FP), SI
	MOVQ pitch+16(FP), DX
	MOVQ count+24(FP), BX
	MOVQ size+32(FP), CX
	LEAQ (DX)(DX*2), R8
	LEAQ (CX)(CX*2), R9

join4of:
	VMOVDQU      (SI), Y0
	VMOVDQU      (SI)(DX*1), Y1
	VMOVDQU      (SI)(DX*2), Y2
	VMOVDQU      (SI)(R8*1), Y3
	JOIN4
	STORE4(X0)
	STORE4(X1)
	STORE4(X2)
	STORE4(X3)
	VEXTRACTI128 $1, Y0, X0
	VEXTRACTI128 $1, Y1, X1
	VEXTRACTI128 $1, Y2, X2
	VEXTRACTI128 $1, Y3, X3
	STORE4(X0)
	STORE4(X1)
	STORE4(X2)
	STORE4(X3)
	ADDQ         $32, SI
	SUBQ         $32, BX
	JNZ          join4of
	VZEROUPPER
	RET

// The highest bit of each byte to a row; the next one takes its place.
#define BIT(row) \
	VPMOVMSKB Y0, AX;     \
	VPADDB    Y0, Y0, Y0; \
	MOVL      AX, row

// func splitAVX2(rows, lane *byte, pitch, count int)
TEXT ·splitAVX2(SB), NOSPLIT, $0-32
	MOVQ rows+0(FP), DI
	MOVQ lane+8(FP), SI
	MOVQ pitch+16(FP), DX
	MOVQ count+24(FP), BX
	LEAQ (DX)(DX*2), R8
	LEAQ (DI)(R8*1), R9   // row 3
	LEAQ (R9)(R8*1), R10  // row 6

split:
	VMOVDQU (SI), Y0
	BIT((R10)(DX*1))
	BIT((R10))
	BIT((R9)(DX*2))
	BIT((R9)(DX*1))
	BIT((R9))
	BIT((DI)(DX*2))
	BIT((DI)(DX*1))
	BIT((DI))
	ADDQ    $32, SI
	ADDQ    $4, DI
	ADDQ    $4, R9
	ADDQ    $4, R10
	SUBQ    $32, BX
	JNZ     split
	VZEROUPPER
	RET

// Exchanges the bits of b under mask with those of a under mask<<shift.
#define SWAP(shift, mask, a, b) \
	VPSRLQ $shift, a, Y8;  \
	VPXOR  b, Y8, Y8;      \
	VPAND  mask, Y8, Y8;   \
	VPXOR  Y8, b, b;       \
	VPSLLQ $shift, Y8, Y8; \
	VPXOR  Y8, a, a

// func joinAVX2(lane, rows *byte, pitch, count int)
TEXT ·joinAVX2(SB), NOSPLIT, $0-32
	MOVQ         lane+0(FP), DI
	MOVQ         rows+8(FP), SI
	MOVQ         pitch+16(FP), DX
	MOVQ         count+24(FP), BX
	LEAQ         (DX)(DX*2), R8
	LEAQ         (SI)(R8*1), R9  // row 3
	LEAQ         (R9)(R8*1), R10 // row 6

join:
	VPBROADCASTQ each4<>(SB), Y13
	VPBROADCASTQ each2<>(SB), Y14
	VPBROADCASTQ each1<>(SB), Y15
	VMOVDQU      (SI), Y0
	VMOVDQU      (SI)(DX*1), Y1
	VMOVDQU      (SI)(DX*2), Y2
	VMOVDQU      (R9), Y3
	VMOVDQU      (R9)(DX*1), Y4
	VMOVDQU      (R9)(DX*2), Y5
	VMOVDQU      (R10), Y6
	VMOVDQU      (R10)(DX*1), Y7

	// As loadBits does: register r has every eighth byte from r on.
	SWAP(4, Y13, Y0, Y4)
	SWAP(4, Y13, Y1, Y5)
	SWAP(4, Y13, Y2, Y6)
	SWAP(4, Y13, Y3, Y7)
	SWAP(2, Y14, Y0, Y2)
	SWAP(2, Y14, Y1, Y3)
	SWAP(2, Y14, Y4, Y6)
	SWAP(2, Y14, Y5, Y7)
	SWAP(1, Y15, Y0, Y1)
	SWAP(1, Y15, Y2, Y3)
	SWAP(1, Y15, Y4, Y5)
	SWAP(1, Y15, Y6, Y7)

	// Their bytes in turn.
	VPUNPCKLBW   Y1, Y0, Y8
	VPUNPCKHBW   Y1, Y0, Y9
	VPUNPCKLBW   Y3, Y2, Y10
	VPUNPCKHBW   Y3, Y2, Y11
	VPUNPCKLBW   Y5, Y4, Y12
	VPUNPCKHBW   Y5, Y4, Y13
	VPUNPCKLBW   Y7, Y6, Y14
	VPUNPCKHBW   Y7, Y6, Y15
	VPUNPCKLWD   Y10, Y8, Y0
	VPUNPCKHWD   Y10, Y8, Y1
	VPUNPCKLWD   Y11, Y9, Y2
	VPUNPCKHWD   Y11, Y9, Y3
	VPUNPCKLWD   Y14, Y12, Y4
	VPUNPCKHWD   Y14, Y12, Y5
	VPUNPCKLWD   Y15, Y13, Y6
	VPUNPCKHWD   Y15, Y13, Y7
	VPUNPCKLDQ   Y4, Y0, Y8
	VPUNPCKHDQ   Y4, Y0, Y9
	VPUNPCKLDQ   Y5, Y1, Y10
	VPUNPCKHDQ   Y5, Y1, Y11
	VPUNPCKLDQ   Y6, Y2, Y12
	VPUNPCKHDQ   Y6, Y2, Y13
	VPUNPCKLDQ   Y7, Y3, Y14
	VPUNPCKHDQ   Y7, Y3, Y15
	VMOVDQU      X8, (DI)
	VMOVDQU      X9, 16(DI)
	VMOVDQU      X10, 32(DI)
	VMOVDQU      X11, 48(DI)
	VMOVDQU      X12, 64(DI)
	VMOVDQU      X13, 80(DI)
	VMOVDQU      X14, 96(DI)
	VMOVDQU      X15, 112(DI)
	VEXTRACTI128 $1, Y8, 128(DI)
	VEXTRACTI128 $1, Y9, 144(DI)
	VEXTRACTI128 $1, Y10, 160(DI)
	VEXTRACTI128 $1, Y11, 176(DI)
	VEXTRACTI128 $1, Y12, 192(DI)
	VEXTRACTI128 $1, Y13, 208(DI)
	VEXTRACTI128 $1, Y14, 224(DI)
	VEXTRACTI128 $1, Y15, 240(DI)
	ADDQ         $256, DI
	ADDQ         $32, SI
	ADDQ         $32, R9
	ADDQ         $32, R10
	SUBQ         $256, BX
	JNZ          join
	VZEROUPPER
	RET
