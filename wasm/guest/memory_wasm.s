#include "textflag.h"

// func pages() int32
TEXT ·pages(SB), NOSPLIT, $0-4
	Get SP
	CurrentMemory
	I32Store ret+0(FP)
	RET
