#include "textflag.h"

// Kernels for NEON, which every arm64 has. kernels_arm64.go says what each
// does. Structures that take turns (LD4, ST4) are slow on many processors:
// plain loads and stores here, and permutations, of which all do two or more
// at once.

// The even and the odd bytes of a and b together; and the inverse.
#define PART(a, b, even, odd) \
	VUZP1 b, a, even; \
	VUZP2 b, a, odd

#define MERGE(even, odd, a, b) \
	VZIP1 odd, even, a; \
	VZIP2 odd, even, b

// V0 to V3 hold 16 elements of four bytes; then a row of each byte.
#define SPLIT4 \
	PART(V0.B16, V1.B16, V4.B16, V5.B16); \
	PART(V2.B16, V3.B16, V6.B16, V7.B16); \
	PART(V4.B16, V6.B16, V0.B16, V2.B16); \
	PART(V5.B16, V7.B16, V1.B16, V3.B16)

#define JOIN4 \
	MERGE(V0.B16, V2.B16, V4.B16, V6.B16); \
	MERGE(V1.B16, V3.B16, V5.B16, V7.B16); \
	MERGE(V4.B16, V5.B16, V0.B16, V1.B16); \
	MERGE(V6.B16, V7.B16, V2.B16, V3.B16)

// V0 to V7 hold 16 elements of eight bytes; then V16 to V23 a row of each
// byte.
#define SPLIT8 \
	PART(V0.B16, V1.B16, V16.B16, V20.B16);  \
	PART(V2.B16, V3.B16, V17.B16, V21.B16);  \
	PART(V4.B16, V5.B16, V18.B16, V22.B16);  \
	PART(V6.B16, V7.B16, V19.B16, V23.B16);  \
	PART(V16.B16, V17.B16, V0.B16, V2.B16);  \
	PART(V18.B16, V19.B16, V1.B16, V3.B16);  \
	PART(V20.B16, V21.B16, V4.B16, V6.B16);  \
	PART(V22.B16, V23.B16, V5.B16, V7.B16);  \
	PART(V0.B16, V1.B16, V16.B16, V20.B16);  \
	PART(V2.B16, V3.B16, V18.B16, V22.B16);  \
	PART(V4.B16, V5.B16, V17.B16, V21.B16);  \
	PART(V6.B16, V7.B16, V19.B16, V23.B16)

#define JOIN8 \
	MERGE(V16.B16, V20.B16, V0.B16, V1.B16); \
	MERGE(V18.B16, V22.B16, V2.B16, V3.B16); \
	MERGE(V17.B16, V21.B16, V4.B16, V5.B16); \
	MERGE(V19.B16, V23.B16, V6.B16, V7.B16); \
	MERGE(V0.B16, V2.B16, V16.B16, V17.B16); \
	MERGE(V1.B16, V3.B16, V18.B16, V19.B16); \
	MERGE(V4.B16, V6.B16, V20.B16, V21.B16); \
	MERGE(V5.B16, V7.B16, V22.B16, V23.B16); \
	MERGE(V16.B16, V20.B16, V0.B16, V1.B16); \
	MERGE(V17.B16, V21.B16, V2.B16, V3.B16); \
	MERGE(V18.B16, V22.B16, V4.B16, V5.B16); \
	MERGE(V19.B16, V23.B16, V6.B16, V7.B16)

// func split2NEON(rows, elements *byte, pitch, count int)
TEXT ·split2NEON(SB), NOSPLIT, $0-32
	MOVD rows+0(FP), R0
	MOVD elements+8(FP), R1
	MOVD pitch+16(FP), R2
	MOVD count+24(FP), R3
	ADD  R2, R0, R4

split2:
	VLD1.P 32(R1), [V0.B16, V1.B16]
	PART(V0.B16, V1.B16, V2.B16, V3.B16)
	VST1.P [V2.B16], 16(R0)
	VST1.P [V3.B16], 16(R4)
	SUBS   $16, R3, R3
	BNE    split2
	RET

// func join2NEON(elements, rows *byte, pitch, count int)
TEXT ·join2NEON(SB), NOSPLIT, $0-32
	MOVD elements+0(FP), R1
	MOVD rows+8(FP), R0
	MOVD pitch+16(FP), R2
	MOVD count+24(FP), R3
	ADD  R2, R0, R4

join2:
	VLD1.P 16(R0), [V2.B16]
	VLD1.P 16(R4), [V3.B16]
	MERGE(V2.B16, V3.B16, V0.B16, V1.B16)
	VST1.P [V0.B16, V1.B16], 32(R1)
	SUBS   $16, R3, R3
	BNE    join2
	RET

// R0 is the first row, R2 from one to the next: the others, four or eight.
#define ROWS4 \
	ADD R2, R0, R4; \
	ADD R2, R4, R5; \
	ADD R2, R5, R6

#define ROWS8 \
	ROWS4;           \
	ADD R2, R6, R7;  \
	ADD R2, R7, R8;  \
	ADD R2, R8, R9;  \
	ADD R2, R9, R10

#define LOADROWS4 \
	VLD1.P 16(R0), [V0.B16]; \
	VLD1.P 16(R4), [V1.B16]; \
	VLD1.P 16(R5), [V2.B16]; \
	VLD1.P 16(R6), [V3.B16]

#define STOREROWS4 \
	VST1.P [V0.B16], 16(R0); \
	VST1.P [V1.B16], 16(R4); \
	VST1.P [V2.B16], 16(R5); \
	VST1.P [V3.B16], 16(R6)

#define LOADROWS8 \
	VLD1.P 16(R0), [V16.B16];  \
	VLD1.P 16(R4), [V17.B16];  \
	VLD1.P 16(R5), [V18.B16];  \
	VLD1.P 16(R6), [V19.B16];  \
	VLD1.P 16(R7), [V20.B16];  \
	VLD1.P 16(R8), [V21.B16];  \
	VLD1.P 16(R9), [V22.B16];  \
	VLD1.P 16(R10), [V23.B16]

#define STOREROWS8 \
	VST1.P [V16.B16], 16(R0);  \
	VST1.P [V17.B16], 16(R4);  \
	VST1.P [V18.B16], 16(R5);  \
	VST1.P [V19.B16], 16(R6);  \
	VST1.P [V20.B16], 16(R7);  \
	VST1.P [V21.B16], 16(R8);  \
	VST1.P [V22.B16], 16(R9);  \
	VST1.P [V23.B16], 16(R10)

// func split4NEON(rows, elements *byte, pitch, count int)
TEXT ·split4NEON(SB), NOSPLIT, $0-32
	MOVD rows+0(FP), R0
	MOVD elements+8(FP), R1
	MOVD pitch+16(FP), R2
	MOVD count+24(FP), R3
	ROWS4

split4:
	VLD1.P 64(R1), [V0.B16, V1.B16, V2.B16, V3.B16]
	SPLIT4
	STOREROWS4
	SUBS   $16, R3, R3
	BNE    split4
	RET

// func join4NEON(elements, rows *byte, pitch, count int)
TEXT ·join4NEON(SB), NOSPLIT, $0-32
	MOVD elements+0(FP), R1
	MOVD rows+8(FP), R0
	MOVD pitch+16(FP), R2
	MOVD count+24(FP), R3
	ROWS4

join4:
	LOADROWS4
	JOIN4
	VST1.P [V0.B16, V1.B16, V2.B16, V3.B16], 64(R1)
	SUBS   $16, R3, R3
	BNE    join4
	RET

// Four elements, R11 bytes apart.
#define LOAD4(lane0, lane1, lane2, lane3) \
	VLD1.P (R1)(R11), lane0; \
	VLD1.P (R1)(R11), lane1; \
	VLD1.P (R1)(R11), lane2; \
	VLD1.P (R1)(R11), lane3

#define STORE4(lane0, lane1, lane2, lane3) \
	VST1.P lane0, (R1)(R11); \
	VST1.P lane1, (R1)(R11); \
	VST1.P lane2, (R1)(R11); \
	VST1.P lane3, (R1)(R11)

// func split4ofNEON(rows, elements *byte, pitch, count, size int)
TEXT ·split4ofNEON(SB), NOSPLIT, $0-40
	MOVD rows+0(FP), R0
	MOVD elements+8(FP), R1
	MOVD pitch+16(FP), R2
	MOVD count+24(FP), R3
	MOVD size+32(FP), R11
	ROWS4

split4of:
	LOAD4(V0.S[0], V0.S[1], V0.S[2], V0.S[3])
	LOAD4(V1.S[0], V1.S[1], V1.S[2], V1.S[3])
	LOAD4(V2.S[0], V2.S[1], V2.S[2], V2.S[3])
	LOAD4(V3.S[0], V3.S[1], V3.S[2], V3.S[3])
	SPLIT4
	STOREROWS4
	SUBS $16, R3, R3
	BNE  split4of
	RET

// func join4ofNEON(elements, rows *byte, pitch, count, size int)
TEXT ·join4ofNEON(SB), NOSPLIT, $0-40
	MOVD elements+0(FP), R1
	MOVD rows+8(FP), R0
	MOVD pitch+16(FP), R2
	MOVD count+24(FP), R3
	MOVD size+32(FP), R11
	ROWS4

join4of:
	LOADROWS4
	JOIN4
	STORE4(V0.S[0], V0.S[1], V0.S[2], V0.S[3])
	STORE4(V1.S[0], V1.S[1], V1.S[2], V1.S[3])
	STORE4(V2.S[0], V2.S[1], V2.S[2], V2.S[3])
	STORE4(V3.S[0], V3.S[1], V3.S[2], V3.S[3])
	SUBS $16, R3, R3
	BNE  join4of
	RET

// func split8NEON(rows, elements *byte, pitch, count int)
TEXT ·split8NEON(SB), NOSPLIT, $0-32
	MOVD rows+0(FP), R0
	MOVD elements+8(FP), R1
	MOVD pitch+16(FP), R2
	MOVD count+24(FP), R3
	ROWS8

split8:
	VLD1.P 64(R1), [V0.B16, V1.B16, V2.B16, V3.B16]
	VLD1.P 64(R1), [V4.B16, V5.B16, V6.B16, V7.B16]
	SPLIT8
	STOREROWS8
	SUBS   $16, R3, R3
	BNE    split8
	RET

// func join8NEON(elements, rows *byte, pitch, count int)
TEXT ·join8NEON(SB), NOSPLIT, $0-32
	MOVD elements+0(FP), R1
	MOVD rows+8(FP), R0
	MOVD pitch+16(FP), R2
	MOVD count+24(FP), R3
	ROWS8

join8:
	LOADROWS8
	JOIN8
	VST1.P [V0.B16, V1.B16, V2.B16, V3.B16], 64(R1)
	VST1.P [V4.B16, V5.B16, V6.B16, V7.B16], 64(R1)
	SUBS   $16, R3, R3
	BNE    join8
	RET

// func split8ofNEON(rows, elements *byte, pitch, count, size int)
TEXT ·split8ofNEON(SB), NOSPLIT, $0-40
	MOVD rows+0(FP), R0
	MOVD elements+8(FP), R1
	MOVD pitch+16(FP), R2
	MOVD count+24(FP), R3
	MOVD size+32(FP), R11
	ROWS8

split8of:
	LOAD4(V0.D[0], V0.D[1], V1.D[0], V1.D[1])
	LOAD4(V2.D[0], V2.D[1], V3.D[0], V3.D[1])
	LOAD4(V4.D[0], V4.D[1], V5.D[0], V5.D[1])
	LOAD4(V6.D[0], V6.D[1], V7.D[0], V7.D[1])
	SPLIT8
	STOREROWS8
	SUBS $16, R3, R3
	BNE  split8of
	RET

// func join8ofNEON(elements, rows *byte, pitch, count, size int)
TEXT ·join8ofNEON(SB), NOSPLIT, $0-40
	MOVD elements+0(FP), R1
	MOVD rows+8(FP), R0
	MOVD pitch+16(FP), R2
	MOVD count+24(FP), R3
	MOVD size+32(FP), R11
	ROWS8

join8of:
	LOADROWS8
	JOIN8
	STORE4(V0.D[0], V0.D[1], V1.D[0], V1.D[1])
	STORE4(V2.D[0], V2.D[1], V3.D[0], V3.D[1])
	STORE4(V4.D[0], V4.D[1], V5.D[0], V5.D[1])
	STORE4(V6.D[0], V6.D[1], V7.D[0], V7.D[1])
	SUBS $16, R3, R3
	BNE  join8of
	RET

// Exchanges the bits of b under mask with those of a under mask<<shift. Of
// half a byte, a shift inserts them without a mask.
#define SWAP(shift, mask, a, b) \
	VSHL  $shift, b, V24.B16; \
	VUSHR $shift, a, V25.B16; \
	VBIF  mask, V24.B16, a;   \
	VBIT  mask, V25.B16, b

#define SWAP4(a, b) \
	VMOV a, V24.B16;     \
	VSLI $4, b, a;       \
	VSRI $4, V24.B16, b

// As loadBits does, of V16 to V23.
#define BITS8 \
	SWAP4(V16.B16, V20.B16);            \
	SWAP4(V17.B16, V21.B16);            \
	SWAP4(V18.B16, V22.B16);            \
	SWAP4(V19.B16, V23.B16);            \
	SWAP(2, V26.B16, V16.B16, V18.B16); \
	SWAP(2, V26.B16, V17.B16, V19.B16); \
	SWAP(2, V26.B16, V20.B16, V22.B16); \
	SWAP(2, V26.B16, V21.B16, V23.B16); \
	SWAP(1, V27.B16, V16.B16, V17.B16); \
	SWAP(1, V27.B16, V18.B16, V19.B16); \
	SWAP(1, V27.B16, V20.B16, V21.B16); \
	SWAP(1, V27.B16, V22.B16, V23.B16)

// func splitNEON(rows, lane *byte, pitch, count int)
TEXT ·splitNEON(SB), NOSPLIT, $0-32
	MOVD  rows+0(FP), R0
	MOVD  lane+8(FP), R1
	MOVD  pitch+16(FP), R2
	MOVD  count+24(FP), R3
	VMOVI $0x33, V26.B16
	VMOVI $0x55, V27.B16
	ROWS8

split:
	VLD1.P 64(R1), [V0.B16, V1.B16, V2.B16, V3.B16]
	VLD1.P 64(R1), [V4.B16, V5.B16, V6.B16, V7.B16]
	SPLIT8
	BITS8
	STOREROWS8
	SUBS   $128, R3, R3
	BNE    split
	RET

// func joinNEON(lane, rows *byte, pitch, count int)
TEXT ·joinNEON(SB), NOSPLIT, $0-32
	MOVD  lane+0(FP), R1
	MOVD  rows+8(FP), R0
	MOVD  pitch+16(FP), R2
	MOVD  count+24(FP), R3
	VMOVI $0x33, V26.B16
	VMOVI $0x55, V27.B16
	ROWS8

join:
	LOADROWS8
	BITS8
	JOIN8
	VST1.P [V0.B16, V1.B16, V2.B16, V3.B16], 64(R1)
	VST1.P [V4.B16, V5.B16, V6.B16, V7.B16], 64(R1)
	SUBS   $128, R3, R3
	BNE    join
	RET
