// What both kernels of lz4_encode_amd64.s do, but for SLOT, LOOK, KEEP and FAR.
//
// SI is the input, R8 the position in it, R9 that after the last match. R10 is
// the last one at which to look for a match, R11 where the last match may end.
// R12 is where the same bytes were seen. DI is the output, BX the table.

	MOVQ walk+48(FP), AX
	MOVQ lz4Walk_at(AX), R8
	MOVQ lz4Walk_from(AX), R9
	MOVQ lz4Walk_out(AX), DI
	MOVQ lz4Walk_step(AX), R13
	MOVQ lz4Walk_missed(AX), CX
	ADDQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ table+16(FP), BX
	MOVQ n+24(FP), R11
	SUBQ $5, R11
	MOVQ stop+32(FP), R10
	TESTQ R13, R13
	JEQ   matched

search:
	CMPQ R8, R10
	JGT  stopSearching
	MOVQ (SI)(R8*1), DX
	SLOT
	LOOK
	KEEP(R8)
	CMPL DX, (SI)(R12*1)
	JNE  miss
	FAR(miss)

back:
	// It may have begun earlier.
	CMPQ    R8, R9
	JLE     found
	TESTQ   R12, R12
	JEQ     found
	MOVBLZX -1(SI)(R8*1), AX
	CMPB    AX, -1(SI)(R12*1)
	JNE     found
	DECQ    R8
	DECQ    R12
	JMP     back

miss:
	ADDQ R13, R8
	MOVQ CX, R13
	SHRQ $6, R13
	INCQ CX
	JMP  search

found:
	MOVQ R8, CX
	SUBQ R9, CX

match:
	// After CX literals. AX becomes its length: up to 15 without a branch.
	LEAQ    16(R8), R13
	CMPQ    R13, R11
	JGT     long
	MOVQ    (SI)(R8*1), AX
	MOVQ    8(SI)(R8*1), DX
	XORQ    (SI)(R12*1), AX
	XORQ    8(SI)(R12*1), DX
	BSFQ    DX, DX
	JEQ     long
	ADDQ    $64, DX
	BSFQ    AX, AX
	CMOVQEQ DX, AX
	SHRQ    $3, AX
	CMPQ    AX, $4
	JCS     long        // somebody writes to the input: nothing but that may go wrong

sequence:
	LEAQ  -4(AX), R13
	MOVQ  R8, DX
	SUBQ  R12, DX       // the distance
	LEAQ  -11(R11), R12
	CMPQ  R9, R12
	JGT   whole         // there are not 16 bytes
	CMPQ  CX, $15
	JCC   whole
	CMPQ  R13, $15
	JCC   whole
	MOVOU (SI)(R9*1), X0
	MOVL  CX, R12
	SHLL  $4, R12
	ORL   R13, R12
	MOVB  R12, (DI)
	MOVOU X0, 1(DI)
	MOVW  DX, 1(DI)(CX*1)
	LEAQ  3(DI)(CX*1), DI

next:
	ADDQ AX, R8
	MOVQ R8, R9

matched:
	// What repeats often repeats from near the end of a match, and what comes
	// next often was seen too.
	CMPQ R8, R10
	JGT  stopMatched
	MOVQ -2(SI)(R8*1), DX
	SLOT
	LEAQ -2(R8), CX
	KEEP(CX)
	MOVQ (SI)(R8*1), DX
	SLOT
	LOOK
	KEEP(R8)
	CMPL DX, (SI)(R12*1)
	JNE  other
	FAR(other)
	XORL CX, CX
	JMP  match

other:
	INCQ R8
	MOVL $1, R13
	MOVQ stride+40(FP), CX
	SHLQ $6, CX
	JMP  search

long:
	// Four bytes are the same: AX is the distance, R13 goes on behind them.
	MOVQ R8, AX
	SUBQ R12, AX
	LEAQ 4(R8), R13

longWords:
	LEAQ 8(R13), DX
	CMPQ DX, R11
	JGT  longBytes
	MOVQ R13, R12
	SUBQ AX, R12
	MOVQ (SI)(R13*1), DX
	XORQ (SI)(R12*1), DX
	JNE  longWord
	ADDQ $8, R13
	JMP  longWords

longWord:
	BSFQ DX, DX
	SHRQ $3, DX
	ADDQ DX, R13
	JMP  longEnd

longBytes:
	CMPQ    R13, R11
	JGE     longEnd
	MOVQ    R13, R12
	SUBQ    AX, R12
	MOVBLZX (SI)(R13*1), DX
	CMPB    DX, (SI)(R12*1)
	JNE     longEnd
	INCQ    R13
	JMP     longBytes

longEnd:
	MOVQ R8, R12
	SUBQ AX, R12
	MOVQ R13, AX
	SUBQ R8, AX
	JMP  sequence

whole:
	// Lengths of any size: CX literals, and R13+4 bytes from DX before.
	ADDQ    AX, R8
	MOVL    $15, R12
	MOVQ    CX, AX
	CMPQ    AX, R12
	CMOVQHI R12, AX
	SHLL    $4, AX
	CMPQ    R13, R12
	CMOVQCS R13, R12
	ORL     R12, AX
	MOVB    AX, (DI)
	INCQ    DI
	MOVQ    CX, AX
	SUBQ    $15, AX
	JCS     literals

literalsLength:
	CMPQ AX, $255
	JCS  literalsLast
	MOVB $255, (DI)
	INCQ DI
	SUBQ $255, AX
	JMP  literalsLength

literalsLast:
	MOVB AX, (DI)
	INCQ DI

literals:
	MOVQ SI, AX
	ADDQ R9, SI
	REP; MOVSB
	MOVQ AX, SI
	MOVW DX, (DI)
	ADDQ $2, DI
	XORL AX, AX // R8 is there already
	SUBQ $15, R13
	JCS  next

matchLength:
	CMPQ R13, $255
	JCS  matchLast
	MOVB $255, (DI)
	INCQ DI
	SUBQ $255, R13
	JMP  matchLength

matchLast:
	MOVB R13, (DI)
	INCQ DI
	JMP  next

stopMatched:
	MOVQ walk+48(FP), AX
	MOVQ $0, lz4Walk_step(AX)
	JMP  stopped

stopSearching:
	MOVQ walk+48(FP), AX
	MOVQ R13, lz4Walk_step(AX)
	MOVQ CX, lz4Walk_missed(AX)

stopped:
	SUBQ dst+0(FP), DI
	MOVQ R8, lz4Walk_at(AX)
	MOVQ R9, lz4Walk_from(AX)
	MOVQ DI, lz4Walk_out(AX)
	RET
