// A reader of NumPy's .npy: one array, raw, behind a short header.
//
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#include "../plugin.h"

IMPORT(read) int32_t host_read(uint32_t off_lo, uint32_t off_hi, void *ptr, uint32_t len);

static const char about[] =
#include "about.inc"
	;

EXPORT(gp_about) int32_t gp_about(bytes *out) {
	*out = (bytes){about, sizeof about - 1};
	return 0;
}

#define MOST (1ull << 58)

enum { AXES = 32, ROWS = 1 << 20 }; // a chunk is some rows, about this many bytes

// state is what gp_describe leaves to gp_chunk.
typedef struct { uint64_t data, row, rows, per; uint32_t axes, fortran; uint64_t all; } state;

typedef struct { char *at; uint32_t len; } text;

static void put(text *t, const char *s) {
	while (*s) t->at[t->len++] = *s++;
}

static void put_number(text *t, uint64_t v) {
	char digits[20];
	int n = 0;
	do digits[n++] = '0' + v % 10; while (v /= 10);
	while (n) t->at[t->len++] = digits[--n];
}

// find returns what follows a key of the header's dictionary.
static const char *find(const char *h, const char *end, const char *key) {
	for (; h < end; h++) {
		const char *a = h, *k = key;
		while (a < end && *k && *a == *k) a++, k++;
		if (*k) continue;
		while (a < end && (*a == ' ' || *a == ':')) a++;
		return a;
	}
	return 0;
}

static const struct { char kind; int size; const char *name; } types[] = {
	{'b', 1, "bool"}, {'i', 1, "int8"}, {'i', 2, "int16"}, {'i', 4, "int32"}, {'i', 8, "int64"},
	{'u', 1, "uint8"}, {'u', 2, "uint16"}, {'u', 4, "uint32"}, {'u', 8, "uint64"},
	{'f', 2, "float16"}, {'f', 4, "float32"}, {'f', 8, "float64"}, {'c', 8, "complex64"}, {'c', 16, "complex128"},
};

EXPORT(gp_describe)
int32_t gp_describe(const char *key, uint32_t key_len, uint32_t size_lo, uint32_t size_hi, bytes *out) {
	uint8_t head[12];
	int32_t got = host_read(0, 0, head, sizeof head);
	if (got < 0) return got;
	static const uint8_t magic[] = "\x93NUMPY";
	for (int i = 0; i < 6; i++)
		if (got < 12 || head[i] != magic[i]) return fail(CORRUPT, "no .npy");
	if (head[6] < 1 || head[6] > 3) return fail(UNSUPPORTED, "a version of .npy after 3");
	uint32_t skip = head[6] == 1 ? 10 : 12, len = head[8] | head[9] << 8;
	if (head[6] > 1) len |= head[10] << 16 | (uint32_t)head[11] << 24;
	if (len > 1 << 16) return fail(LIMIT, "the header has more than 65536 bytes");
	char *h = alloc(len + 1);
	if (!h) return LIMIT;
	got = host_read(skip, 0, h, len);
	if (got < 0) return got;
	if ((uint32_t)got < len) return fail(CORRUPT, "ends within its header");
	const char *end = h + len;

	const char *descr = find(h, end, "'descr'"), *order = find(h, end, "'fortran_order'"), *s = find(h, end, "'shape'");
	if (!descr || !order || !s || end - descr < 5 || end - order < 4 || s == end || *s != '(') return fail(CORRUPT, "the header lacks a key");
	if (*descr != '\'') return fail(UNSUPPORTED, "elements with fields");
	int big = descr[1] == '>', size = 0;
	const char *d = descr + 3, *name = 0;
	while (d < end && *d >= '0' && *d <= '9' && size < 100) size = size * 10 + *d++ - '0';
	for (unsigned i = 0; i < sizeof types / sizeof *types; i++)
		if (types[i].kind == descr[2] && types[i].size == size) name = types[i].name;
	if (!name || d == end || *d != '\'') return fail(UNSUPPORTED, "a type of elements");

	state *st = alloc(sizeof *st);
	if (!st) return LIMIT;
	*st = (state){.data = skip + len, .fortran = *order == 'T'};
	uint64_t shape[AXES], all = size;
	for (s++;;) {
		while (s < end && (*s == ' ' || *s == ',')) s++;
		if (s == end) return fail(CORRUPT, "the shape has no end");
		if (*s == ')') break;
		if (*s < '0' || *s > '9') return fail(CORRUPT, "the shape is no list of numbers");
		if (st->axes == AXES) return fail(LIMIT, "more than 32 axes");
		uint64_t x = 0;
		while (s < end && *s >= '0' && *s <= '9')
			if ((x = x * 10 + (*s++ - '0')) > MOST) return fail(CORRUPT, "a shape of more than 2^58 elements");
		if (x && all > MOST / x) return fail(CORRUPT, "a shape of more than 2^58 bytes");
		all *= x;
		shape[st->axes++] = x;
	}
	st->all = all;
	// Rows lie along the first axis as the bytes lie.
	uint32_t first = st->fortran && st->axes ? st->axes - 1 : 0;
	st->rows = st->axes ? shape[first] : 1;
	st->row = st->rows ? all / st->rows : 0;
	st->per = st->row ? ROWS / st->row : st->rows;
	if (!st->per) st->per = 1;
	if (st->per > st->rows) st->per = st->rows ? st->rows : 1;
	uint64_t here = (uint64_t)size_hi << 32 | size_lo;
	if (here >> 63 == 0 && (here < st->data || here - st->data < all)) return fail(CORRUPT, "shorter than its shape says");

	text t = {alloc(4096), 0};
	if (!t.at) return LIMIT;
	put(&t, "{\"shape\":[");
	for (uint32_t i = 0; i < st->axes; i++) {
		if (i) put(&t, ",");
		put_number(&t, shape[i]);
	}
	put(&t, "],\"data_type\":\"");
	put(&t, name);
	put(&t, "\",\"fill_value\":");
	put(&t, *name == 'b' ? "false" : *name == 'c' ? "[0,0]" : "0");
	// The last chunk has the rows that are left, and no bytes behind them.
	uint64_t left = st->per ? st->rows % st->per : 0;
	if (left && st->axes) {
		put(&t, ",\"chunk_grid\":{\"name\":\"rectilinear\",\"configuration\":{\"kind\":\"inline\",\"chunk_shapes\":[");
		for (uint32_t i = 0; i < st->axes; i++) {
			put(&t, i ? ",[[" : "[[");
			put_number(&t, i == first ? st->per : shape[i] ? shape[i] : 1);
			put(&t, ",");
			put_number(&t, i == first ? st->rows / st->per : 1);
			if (i == first) {
				put(&t, "],[");
				put_number(&t, left);
				put(&t, ",1");
			}
			put(&t, "]]");
		}
		put(&t, "]}}");
	} else {
		put(&t, ",\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":[");
		for (uint32_t i = 0; i < st->axes; i++) {
			if (i) put(&t, ",");
			put_number(&t, i == first ? st->per : shape[i] ? shape[i] : 1);
		}
		put(&t, "]}}");
	}
	put(&t, ",\"codecs\":[");
	if (st->fortran && st->axes > 1) {
		put(&t, "{\"name\":\"transpose\",\"configuration\":{\"order\":[");
		for (uint32_t i = st->axes; i-- > 0;) {
			put_number(&t, i);
			if (i) put(&t, ",");
		}
		put(&t, "]}},");
	}
	put(&t, "{\"name\":\"bytes\"");
	if (size > 1) put(&t, big ? ",\"configuration\":{\"endian\":\"big\"}" : ",\"configuration\":{\"endian\":\"little\"}");
	put(&t, "}],\"attributes\":{}}");
	out[0] = (bytes){t.at, t.len};
	out[1] = (bytes){st, sizeof *st};
	return 0;
}

typedef struct { uint64_t off, len; } range;

EXPORT(gp_chunk)
int32_t gp_chunk(const state *st, uint32_t len, const uint64_t *index, uint32_t axes, bytes *out) {
	range *r = alloc(sizeof *r);
	if (!r) return LIMIT;
	uint64_t i = axes ? index[st->fortran ? axes - 1 : 0] : 0, rows = st->rows - i * st->per;
	if (rows > st->per) rows = st->per;
	*r = (range){st->data + i * st->per * st->row, rows * st->row};
	out[0] = (bytes){r, sizeof *r};
	out[1] = (bytes){0, 0};
	return 0;
}
