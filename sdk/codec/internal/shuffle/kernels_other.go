//go:build !amd64 && !arm64

package shuffle

// No kernels: the loops in Go do everything. See kernels_amd64.go.

const quick = false

func quickSplit2(dst, src []byte, count int) int { return 0 }

func quickJoin2(dst, src []byte, count int) int { return 0 }

func quickSplit4(dst, src []byte, size, count int) int { return 0 }

func quickJoin4(dst, src []byte, size, count int) int { return 0 }

func quickSplit8(dst, src []byte, size, count int) int { return 0 }

func quickJoin8(dst, src []byte, size, count int) int { return 0 }

func quickSplit(rows, lane []byte, n int) int { return 0 }

func quickJoin(lane, rows []byte, n int) int { return 0 }
