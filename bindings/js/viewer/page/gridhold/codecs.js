// Codecs that the caller lends to the guest. Go compiled to WebAssembly
// decodes slowly; a page often has a faster decoder at hand. What a lent
// codec answers is bytes to be checked, never a length to be trusted, and
// where it fails the guest decodes for itself.
/** Makes a lent codec ready; `undefined` where there is none of that name. Throws what the codec throws. */
export function openCodec(codecs, name, configuration) {
    const lent = Object.hasOwn(codecs, name) ? codecs[name] : undefined;
    if (lent === undefined)
        return undefined;
    if ('fromConfig' in lent) {
        const codec = lent.fromConfig({ ...configuration, id: name });
        return { minLength: CLASS_MIN_LENGTH, decode: (encoded) => codec.decode(encoded) };
    }
    const { decode, minLength = 0 } = typeof lent === 'function' ? { decode: lent } : lent;
    return { minLength, decode: (encoded, size) => decode(encoded, size, configuration) };
}
// The classes of numcodecs answer promises and copy what they decode, which
// costs more than the guest needs for a small chunk (bench/reads.mjs).
const CLASS_MIN_LENGTH = 8192;
/** Gzip by the platform's DecompressionStream; worth its cost from some 16 KiB on. */
export const gzipStream = { minLength: 16384, decode: stream('gzip') };
/** The same of zlib's format. */
export const zlibStream = { minLength: 16384, decode: stream('deflate') };
/** What every page has to lend. */
export const platformCodecs = { gzip: gzipStream, zlib: zlibStream };
function stream(format) {
    return async (encoded, size) => {
        const source = new Blob([encoded]).stream();
        const reader = source.pipeThrough(new DecompressionStream(format)).getReader();
        const out = new Uint8Array(size);
        let at = 0;
        for (;;) {
            const { done, value } = await reader.read();
            if (done)
                return out.subarray(0, at);
            if (at + value.length > size) {
                await reader.cancel();
                throw new RangeError(`more than ${size} bytes`);
            }
            out.set(value, at);
            at += value.length;
        }
    };
}
