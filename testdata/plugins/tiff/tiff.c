// The codecs of TIFF that stores made from such files name: LZW and PackBits,
// as imagecodecs has them for Zarr.
//
// TIFF 6.0, sections 9 and 13: https://www.itu.int/itudoc/itu-t/com16/tiff-fx/docs/tiff6.pdf
#include "../plugin.h"

static const char about[] =
#include "about.inc"
	;

EXPORT(gp_about) int32_t gp_about(bytes *out) {
	*out = (bytes){about, sizeof about - 1};
	return 0;
}

// A string is one byte more than another one: prefix, last byte, length.
typedef struct { uint16_t prefix[4096]; uint8_t last[4096]; uint16_t len[4096]; } strings;

enum { CLEAR = 256, END = 257 };

static int32_t lzw(const uint8_t *src, uint32_t n, uint8_t *dst, uint32_t room) {
	strings *s = alloc(sizeof *s);
	if (!s) return LIMIT;
	for (int i = 0; i < 256; i++) s->last[i] = i, s->len[i] = 1;
	uint32_t held = 0, filled = 0;
	int bits = 0, width = 9, next = 258, before = -1;
	for (uint32_t at = 0;;) {
		while (bits < width) {
			if (at == n) return fail(CORRUPT, "LZW ends without its last code");
			held = held << 8 | src[at++];
			bits += 8;
		}
		int code = held >> (bits -= width) & ((1 << width) - 1);
		if (code == END) return filled;
		if (code == CLEAR) {
			width = 9, next = 258, before = -1;
			continue;
		}
		if (before < 0) {
			if (code > 255) return fail(CORRUPT, "LZW begins with a string that it has not met");
			if (filled == room) return TOO_SMALL;
			dst[filled++] = code;
			before = code;
			continue;
		}
		if (code > next || next == 4096 && code == next) return fail(CORRUPT, "LZW names a string that it has not met");
		int known = code < next ? code : before; // the string that is about to be made begins like the one before it
		uint32_t len = s->len[known], all = len + (code == next);
		if (room - filled < all) return TOO_SMALL;
		int c = known;
		for (uint32_t i = len; i-- > 0; c = s->prefix[c]) dst[filled + i] = s->last[c];
		uint8_t first = dst[filled];
		if (code == next) dst[filled + len] = first;
		filled += all;
		if (next < 4096) {
			s->prefix[next] = before, s->last[next] = first, s->len[next] = s->len[before] + 1;
			next++;
		}
		before = code;
		// One code early, which is how TIFF has it.
		if (next + 1 >= 1 << width && width < 12) width++;
	}
}

static int32_t packbits(const uint8_t *src, uint32_t n, uint8_t *dst, uint32_t room) {
	uint32_t filled = 0;
	for (uint32_t at = 0; at < n;) {
		uint8_t head = src[at++];
		if (head == 128) continue;
		uint32_t len = head < 128 ? head + 1 : 257 - head;
		if (n - at < (head < 128 ? len : 1)) return fail(CORRUPT, "PackBits ends within a run");
		if (room - filled < len) return TOO_SMALL;
		if (head < 128) {
			for (uint32_t i = 0; i < len; i++) dst[filled + i] = src[at + i];
			at += len;
		} else {
			for (uint32_t i = 0; i < len; i++) dst[filled + i] = src[at];
			at++;
		}
		filled += len;
	}
	return filled;
}

static int32_t pack(const uint8_t *src, uint32_t n, uint8_t *dst, uint32_t room) {
	uint32_t filled = 0;
	for (uint32_t at = 0; at < n;) {
		uint32_t run = 1;
		while (run < 128 && at + run < n && src[at + run] == src[at]) run++;
		if (run > 1) {
			if (room - filled < 2) return TOO_SMALL;
			dst[filled++] = 257 - run;
			dst[filled++] = src[at];
			at += run;
			continue;
		}
		while (run < 128 && at + run < n && !(at + run + 1 < n && src[at + run] == src[at + run + 1])) run++;
		if (room - filled < run + 1) return TOO_SMALL;
		dst[filled++] = run - 1;
		for (uint32_t i = 0; i < run; i++) dst[filled++] = src[at + i];
		at += run;
	}
	return filled;
}

EXPORT(gp_decode)
int32_t gp_decode(uint32_t codec, const char *cfg, uint32_t cfg_len, const uint8_t *src, uint32_t n, uint8_t *dst, uint32_t room) {
	switch (codec) {
	case 0: return lzw(src, n, dst, room);
	case 1: return packbits(src, n, dst, room);
	}
	return INVALID;
}

EXPORT(gp_encode)
int32_t gp_encode(uint32_t codec, const char *cfg, uint32_t cfg_len, const uint8_t *src, uint32_t n, uint8_t *dst, uint32_t room) {
	return codec == 1 ? pack(src, n, dst, room) : UNSUPPORTED;
}
