// What a plugin in C needs: docs/abi.md, section "Plugins". Nothing is freed;
// gp_reset forgets all that was allocated since the last one.
#include <stddef.h>
#include <stdint.h>

#define EXPORT(name) __attribute__((export_name(#name)))
#define IMPORT(name) __attribute__((import_module("gridhold_plugin"), import_name(#name)))

enum { CORRUPT = -2, UNSUPPORTED = -3, LIMIT = -7, INVALID = -13, TOO_SMALL = -17 };

typedef struct { const void *at; uint32_t len; } bytes;

extern uint8_t __heap_base;
static uintptr_t top;
static bytes why;

static void *alloc(uint32_t n) {
	if (!top) top = (uintptr_t)&__heap_base;
	uintptr_t at = (top + 15) & ~(uintptr_t)15, end = at + n;
	if (end < at) return 0;
	uintptr_t size = (uintptr_t)__builtin_wasm_memory_size(0) << 16;
	if (end > size && __builtin_wasm_memory_grow(0, (end - size + 65535) >> 16) == (size_t)-1) return 0;
	top = end;
	return (void *)at;
}

static int32_t fail(int32_t code, const char *text) {
	why.at = text;
	for (why.len = 0; text[why.len]; why.len++) {}
	return code;
}

EXPORT(gp_abi) uint32_t gp_abi(void) { return 1 << 16 | 0; }
EXPORT(gp_alloc) void *gp_alloc(uint32_t n) { return alloc(n); }
EXPORT(gp_reset) void gp_reset(void) { top = (uintptr_t)&__heap_base; why = (bytes){0}; }
EXPORT(gp_why) int32_t gp_why(bytes *out) { *out = why; return 0; }
