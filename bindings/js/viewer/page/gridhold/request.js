import { InvalidError } from './errors.js';
export function packed(words, longs) {
    const request = new Uint8Array(4 * words.length + 8 * longs.length);
    const v = new DataView(request.buffer);
    let at = 0;
    for (const word of words) {
        v.setUint32(at, word, true);
        at += 4;
    }
    for (const long of longs) {
        v.setInt32(at, long, true);
        v.setInt32(at + 4, Math.floor(long / 0x1_0000_0000), true);
        at += 8;
    }
    return request;
}
export function integers(what, numbers) {
    for (const n of numbers) {
        if (!Number.isSafeInteger(n))
            throw new InvalidError(`${what}: ${n} is not a whole number`, { item: what });
    }
    return numbers;
}
