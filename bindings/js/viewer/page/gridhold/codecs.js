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
const CLASS_MIN_LENGTH = 8192;
export const gzipStream = { minLength: 16384, decode: stream('gzip') };
export const zlibStream = { minLength: 16384, decode: stream('deflate') };
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
