// What JavaScript itself parses, with anything in it: a value, or one of our errors.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CorruptError, GridholdError, InvalidError } from '../dist/errors.js';
import { floats } from '../dist/floats.js';
import { decode, encode, Extension } from '../dist/msgpack.js';
import { numpyCode, numpyType } from '../dist/numpy.js';

/** The same numbers below n each time (xorshift). */
function numbers(seed) {
  let x = seed;
  return (n) => {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    return (x >>> 0) % n;
  };
}

/** A copy that is cut, has other bytes, or a piece in another place. */
function mutant(next, bytes) {
  let b = [...bytes];
  for (let n = 1 + next(3); n > 0; n--) {
    switch (next(5)) {
      case 0: b = b.slice(0, next(b.length + 1)); break;
      case 1: b.splice(next(b.length + 1), 0, next(256), next(256)); break;
      case 2: b.splice(next(b.length + 1), 8, ...b.slice(next(b.length + 1)).slice(0, 8)); break;
      default: if (b.length > 0) b[next(b.length)] = next(2) === 0 ? next(256) : 0x80 + next(0x60);
    }
  }
  return Uint8Array.from(b);
}

// Of each form that MessagePack has.
const values = [
  null, true, 0, 200, -1, -200, 70_000, -70_000, 2 ** 40, -(2 ** 40), 2n ** 64n - 1n, 1.5, '', 'name', 'é'.repeat(40), 'x'.repeat(300),
  new Uint8Array(70), [], [1, [2, [3, 'x']]], Array.from({ length: 20 }, (_, i) => i), {}, { a: { b: [1, 2] } }, new Map([[1, 'a'], ['b', null]]),
  new Map([['__proto__', 1]]), new Extension(5, new Uint8Array(4)), new Extension(-1, new Uint8Array(300)),
  { embed_map: { '/a': { offset: 0, length: 999 } }, current_offset: 999 },
];

test('MessagePack of anything is a value or damage', () => {
  const next = numbers(13);
  const seeds = values.map(encode);
  let read = 0;
  const tries = 20_000;
  for (let i = 0; i < tries; i++) {
    const bytes = mutant(next, seeds[next(seeds.length)]);
    let value;
    try {
      value = decode(bytes);
    } catch (error) {
      assert.ok(error instanceof CorruptError, `${error.stack} of ${bytes}`);
      continue;
    }
    read++;
    // What was read is written in a form that reads the same.
    const again = encode(value);
    assert.deepEqual(encode(decode(again)), again);
  }
  assert.ok(read > 1000 && read < tries - 1000, `${read} were read`);
  assert.equal(Object.getPrototypeOf(decode(encode({ constructor: 1 }))), Object.prototype);
});

test('lengths that are lies', () => {
  for (const lead of [0xdd, 0xdf, 0xdb, 0xc6, 0xc9]) {
    assert.throws(() => decode(Uint8Array.of(lead, 255, 255, 255, 255, ...new Uint8Array(50))), CorruptError);
  }
});

test('names of data types, with anything in them, are a type', () => {
  const next = numbers(7);
  const names = ['<f4', '|b1', '>i8', '<M8[ns]', '<m8[25us]', '<U3', '|S12', '|V16', '<c16', 'float32', 'bfloat16', ''];
  const odd = ['constructor', '__proto__', 'toString', '<hasOwnProperty', 'valueOf', '<M8[9999999999999999999999s]', '<M8[]'];
  const tries = [...odd, ...Array.from({ length: 20_000 }, () => new TextDecoder().decode(mutant(next, new TextEncoder().encode(names[next(names.length)]))))];
  for (const text of tries) {
    const type = numpyType(text, 4);
    assert.equal(typeof type.name, 'string', text);
    assert.ok(Number.isSafeInteger(type.itemSize) && type.itemSize > 0, text);
    assert.ok(type.scale === undefined || (Number.isSafeInteger(type.scale) && type.scale > 0), `${text}: ${type.scale}`);
    assert.equal(typeof numpyCode(text), 'string', text);
    try {
      floats({ dtype: text, type: { itemSize: 1 }, bytes: Uint8Array.of(0, 127, 255) });
    } catch (error) {
      assert.ok(error instanceof InvalidError && error instanceof GridholdError, `${text}: ${error.stack}`);
    }
  }
});
