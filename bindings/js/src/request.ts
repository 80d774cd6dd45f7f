// Packed requests, as docs/abi.md has them: u32 words, then i64 longs.

import { InvalidError } from './errors.js';

/** Lays out a request. */
export function packed(words: readonly number[], longs: readonly bigint[]): Uint8Array {
  const request = new Uint8Array(4 * words.length + 8 * longs.length);
  const v = new DataView(request.buffer);
  words.forEach((word, i) => v.setUint32(4 * i, word, true));
  longs.forEach((long, i) => v.setBigInt64(4 * words.length + 8 * i, long, true));
  return request;
}

/** Indices as i64. Throws InvalidError for what is not a whole number that JavaScript holds exactly. */
export function integers(what: string, numbers: readonly number[]): bigint[] {
  return numbers.map((n) => {
    if (!Number.isSafeInteger(n)) throw new InvalidError(`${what}: ${n} is not a whole number`, { item: what });
    return BigInt(n);
  });
}
