#include "textflag.h"

// Sequences of LZ4 by permutations of bytes: lz4_amd64.go says how.

// func hasVBMI() bool
TEXT ·hasVBMI(SB), NOSPLIT, $0-1
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
	SHRL $1, CX
	ANDL $1, CX          // VBMI
	MOVB CX, ret+0(FP)

no:
	RET

// SI is where the next sequence begins, DI where its output goes, counted from
// R10; R8 and R9 are the last of each at which one is begun. AX is the length of
// the match, less 4, CX that of the literals, DX the distance. Z0 is the history,
// the 64 bytes before DI; BX the turns; R14 and each byte of Z16 are 64.

// TURN looks up how the history and a match of AX+4 bytes follow each other.
// R13 is the distance less 1. R12 becomes where the match comes from; if that
// is history, a place where reading waits for no store.
#define TURN \
	LEAQ     (R10)(DI*1), R12; \
	SUBQ     DX, R12;          \
	CMPL     R13, $64;         \
	CMOVQCS  BX, R12;          \
	CMOVLCC  R14, R13;         \
	SHLQ     $7, R13;          \
	ADDQ     BX, R13;          \
	VMOVDQU8 132(R13)(AX*1), Z2

// PUT permutes history, literals (in the lower half of Z1) and what comes from
// farther away (in its upper half) by Z2, goes on by the match, and stores as
// many bytes as a sequence may have: those before it are stored again.
#define PUT \
	VPTESTNMB     Z16, Z2, K1;     \
	VPERMB        Z1, Z2, Z3;      \
	VPERMB        Z0, Z2, K1, Z3;  \
	VMOVDQA64     Z3, Z0;          \
	LEAQ          4(DI)(AX*1), DI; \
	VEXTRACTI64X4 $1, Z0, -32(R10)(DI*1)

// func lz4Sequences(dst, src []byte, at, p int, turns *byte) (end, next int)
TEXT ·lz4Sequences(SB), NOSPLIT, $0-88
	MOVQ         src_base+24(FP), SI
	MOVQ         src_len+32(FP), R8
	LEAQ         -19(SI)(R8*1), R8
	ADDQ         p+56(FP), SI
	MOVQ         dst_base+0(FP), R10
	MOVQ         dst_len+8(FP), R9
	SUBQ         $32, R9
	MOVQ         at+48(FP), DI
	MOVQ         turns+64(FP), BX
	MOVL         $64, R14
	VPBROADCASTB R14, Z16
	VMOVDQU8     -64(R10)(DI*1), Z0
	XORL         R11, R11

sequence:
	CMPQ         SI, R8
	JA           done
	CMPQ         DI, R9
	JGT          done
	MOVBLZX      (SI), AX
	VMOVDQU      1(SI), X1
	CMPL         AX, $16
	ADCL         R11, R11 // one bit more: no literals
	MOVL         AX, CX
	SHRL         $4, CX
	ANDL         $15, AX
	MOVWLZX      1(SI)(CX*1), DX
	CMPL         CX, $15
	JEQ          literals
	CMPL         AX, $15
	JEQ          match
	LEAQ         -1(DX), R13
	CMPQ         R13, DI
	JAE          done     // a distance of 0, or perhaps before the output
	CMPW         R11, $-1
	JEQ          bare

short:
	TURN
	VINSERTI64X4 $1, (R12), Z1, Z1
	VPBROADCASTB CX, Z3
	VPADDB       Z3, Z2, Z2
	ADDQ         $3, SI
	ADDQ         CX, SI
	ADDQ         CX, DI
	PUT
	JMP          sequence

bare:
	// None of the last 16 sequences had literals. That the next one has none
	// is a guess, so where it ends waits for nothing.
	CMPQ            SI, R8
	JA              mixed
	CMPQ            DI, R9
	JGT             mixed
	MOVBLZX         (SI), AX
	CMPL            AX, $15
	JAE             mixed
	MOVWLZX         1(SI), DX
	LEAQ            -1(DX), R13
	CMPQ            R13, DI
	JAE             mixed
	TURN
	VBROADCASTI64X4 (R12), Z1
	ADDQ            $3, SI
	PUT
	JMP             bare

mixed:
	XORL R11, R11
	JMP  sequence

literals:
	// 15 literals or more.
	MOVQ    src_base+24(FP), R11
	ADDQ    src_len+32(FP), R11
	LEAQ    1(SI), R13

literalsLength:
	CMPQ    R13, R11
	JAE     done
	MOVBLZX (R13), DX
	INCQ    R13
	ADDQ    DX, CX
	CMPQ    CX, dst_len+8(FP)
	JGT     done
	CMPL    DX, $255
	JEQ     literalsLength
	LEAQ    66(R13)(CX*1), DX
	CMPQ    DX, R11
	JA      done
	LEAQ    64(DI)(CX*1), DX
	CMPQ    DX, dst_len+8(FP)
	JGT     done
	MOVWLZX (R13)(CX*1), DX
	LEAQ    (DI)(CX*1), R12 // where the match goes
	LEAQ    -1(DX), R11
	CMPQ    R11, R12
	JAE     done
	CMPQ    CX, $64
	JGE     many
	VMOVDQU8 (R13), Z4
	VMOVDQU8 Z4, (R10)(DI*1)
	VMOVDQU8 (BX)(CX*1), Z2
	VPERMI2B Z4, Z0, Z2
	JMP     literalsDone

many:
	LEAQ (R10)(DI*1), R11
	ADDQ R10, R12

manyMore:
	VMOVDQU8 (R13), Z4
	VMOVDQU8 Z4, (R11)
	ADDQ $64, R13
	ADDQ $64, R11
	CMPQ R11, R12
	JB   manyMore
	SUBQ R12, R11
	SUBQ R11, R13
	SUBQ R10, R12
	SUBQ CX, R13
	VMOVDQU8 -64(R13)(CX*1), Z2

literalsDone:
	// R13 is where they came from, Z2 the history at R12.
	LEAQ -1(R13)(CX*1), R13
	CMPL AX, $15
	JEQ  matchAfter
	CMPQ R12, R9
	JGT  done
	MOVQ R13, SI
	MOVQ R12, DI
	VMOVDQA64 Z2, Z0
	LEAQ -1(DX), R13
	XORL CX, CX
	XORL R11, R11
	JMP  short

match:
	// A match of 19 bytes or more, after up to 14 literals.
	LEAQ     (DI)(CX*1), R12
	LEAQ     -1(DX), R13
	CMPQ     R13, R12
	JAE      done
	VMOVDQU  X1, (R10)(DI*1)
	VMOVDQU8 (BX)(CX*1), Z2
	VPERMI2B Z1, Z0, Z2
	LEAQ     (SI)(CX*1), R13

matchAfter:
	// It goes to R12, Z2 is the history there. What continues its length lies
	// 3 bytes after R13.
	ADDQ    $3, R13
	MOVQ    src_base+24(FP), R11
	ADDQ    src_len+32(FP), R11

matchLength:
	CMPQ    R13, R11
	JAE     done
	MOVBLZX (R13), CX
	INCQ    R13
	ADDQ    CX, AX
	CMPQ    AX, dst_len+8(FP)
	JGT     done
	CMPL    CX, $255
	JEQ     matchLength
	ADDQ    $4, AX
	LEAQ    64(R12)(AX*1), CX
	CMPQ    CX, dst_len+8(FP)
	JGT     done
	MOVQ    R13, SI
	LEAQ    (R12)(AX*1), DI
	ADDQ    R10, R12
	LEAQ    (R10)(DI*1), R13 // where it ends
	CMPL    DX, $64
	JHI     far
	MOVQ    DX, CX
	SHLQ    $7, CX
	VMOVDQU8 64(BX)(CX*1), Z3
	VPERMB  Z2, Z3, Z4
	MOVBLZX 8448(BX)(DX*1), CX

near:
	VMOVDQU8 Z4, (R12)
	ADDQ     CX, R12
	CMPQ     R12, R13
	JB       near
	CMPQ     AX, $64
	JLE      matchDone
	VMOVDQU8 -64(R13), Z0
	XORL     R11, R11
	JMP      sequence

far:
	MOVQ      R12, R11
	SUBQ      DX, R11
	VMOVDQA64 Z2, Z4

farMore:
	VMOVDQA64 Z4, Z2
	VMOVDQU8  (R11), Z4
	VMOVDQU8  Z4, (R12)
	ADDQ      $64, R11
	ADDQ      $64, R12
	CMPQ      R12, R13
	JB        farMore
	LEAQ      64(R13), AX
	SUBQ      R12, AX     // that many bytes of the last 64

matchDone:
	// AX bytes of Z4 follow the 64 in Z2.
	VMOVDQU8 (BX)(AX*1), Z0
	VPERMI2B Z4, Z2, Z0
	XORL     R11, R11
	JMP      sequence

done:
	VZEROUPPER
	SUBQ src_base+24(FP), SI
	MOVQ DI, end+72(FP)
	MOVQ SI, next+80(FP)
	RET
