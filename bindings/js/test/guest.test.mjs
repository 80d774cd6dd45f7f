// How the host takes guests that misbehave, by guests of a few bytes made here.
import { test } from 'node:test';

import { Gridhold, InternalError, LimitError, CorruptError, UnsupportedError } from '@gridhold/gridhold';

import { MemoryStore } from './arrays.mjs';
import { equal, ok, rejects } from './check.mjs';

const I32 = 0x7f;
const code = { nop: [], trap: [0x00], spin: [0x03, 0x40, 0x0c, 0, 0x0b] };
const constant = (n) => [0x41, ...signed(n)];

/**
 * A guest with one page of memory whose exports answer constants. Mailbox at
 * 1024, all zero: no operation ever ends. `exit` leaves from _initialize.
 */
function guest({ abi = (1 << 16) | 2, initialize = code.nop, run = constant(0), start = constant(1), max } = {}) {
  const types = [[[], []], [[], [I32]], [[I32], []], [[I32, I32], [I32]], [[I32, I32, I32], [I32]], [[I32], [I32]]];
  const functions = [
    ['_initialize', 0, initialize],
    ['gh_abi', 1, constant(abi)],
    ['gh_mailbox', 1, constant(1024)],
    ['gh_configure', 3, constant(0)],
    ['gh_start', 4, start],
    ['gh_run', 3, run],
    ['gh_alloc', 5, constant(2048)],
    ['gh_free', 2, code.nop],
    ['gh_drop', 2, code.nop],
  ];
  const text = (s) => [s.length, ...new TextEncoder().encode(s)];
  const section = (id, items) => {
    const body = [...signed(items.length).map((b) => b & 0x7f), ...items.flat()];
    return [id, ...unsigned(body.length), ...body];
  };
  return Uint8Array.from([
    0, 0x61, 0x73, 0x6d, 1, 0, 0, 0,
    ...section(1, types.map(([from, to]) => [0x60, from.length, ...from, to.length, ...to])),
    ...section(2, [[...text('wasi_snapshot_preview1'), ...text('proc_exit'), 0, 2]]),
    ...section(3, functions.map(([, type]) => [type])),
    ...section(5, [max === undefined ? [0, 1] : [1, 1, max]]),
    ...section(7, [[...text('memory'), 2, 0], ...functions.map(([name], i) => [...text(name), 0, i + 1])]),
    ...section(10, functions.map(([, , body]) => [...unsigned(body.length + 2), 0, ...body, 0x0b])),
  ]);
}

function unsigned(n) {
  return n < 128 ? [n] : [(n & 0x7f) | 0x80, ...unsigned(n >>> 7)];
}

function signed(n) {
  const last = n >= -64 && n < 64;
  return last ? [n & 0x7f] : [(n & 0x7f) | 0x80, ...signed(n >> 7)];
}

const memory = 1 << 20;
const open = async (options) => {
  const gh = await Gridhold.load({ wasm: guest(options), memory });
  return gh.openArray(new MemoryStore(new Map()));
};

for (const abi of [2 << 16, (1 << 16) | 1]) {
  test(`ABI ${abi >>> 16}.0 is refused`, () => rejects(Gridhold.load({ wasm: guest({ abi }), memory }), UnsupportedError));
}

test('a guest that dies while it starts', async () => {
  await rejects(Gridhold.load({ wasm: guest({ initialize: code.trap }), memory }), InternalError, 'trap');
  const error = await rejects(Gridhold.load({ wasm: guest({ initialize: [...constant(3), 0x10, 0] }), memory }), InternalError, 'exit');
  ok(error.message.includes('status 3'), error.message);
});

test('a guest that traps in a run', () => rejects(open({ run: code.trap }), InternalError));
test('a guest that says it was entered twice', () => rejects(open({ run: constant(3) }), InternalError));
test('a guest that is stalled for good', () => rejects(open({ run: constant(2) }), InternalError));
test('a guest that refuses an operation', () => rejects(open({ start: constant(-7) }), LimitError));

test('the next call runs on a fresh instance', async () => {
  const gh = await Gridhold.load({ wasm: guest({ run: code.trap }), memory });
  const store = new MemoryStore(new Map());
  const first = await rejects(gh.openArray(store), InternalError);
  const second = await rejects(gh.openArray(store), InternalError);
  ok(first !== second, 'each instance dies its own death');
});

test('the maximum is written into the module', async () => {
  const pages = async (wasm, bytes) => {
    const module = await Gridhold.compile({ wasm, memory: bytes });
    const imports = { wasi_snapshot_preview1: { proc_exit() {} } };
    const { exports } = await WebAssembly.instantiate(module, imports);
    let n = 1;
    try {
      for (;; n++) exports.memory.grow(1);
    } catch {
      return n;
    }
  };
  equal(await pages(guest(), 5 * 65536), 5);
  equal(await pages(guest(), 5 * 65536 + 65535), 5, 'rounded down');
  equal(await pages(guest(), 300 * 65536), 300, 'a number of two bytes');
  equal(await pages(guest({ max: 3 }), 5 * 65536), 3, 'a lower maximum stays');
  equal(await pages(guest({ max: 9 }), 5 * 65536), 5, 'a higher one is lowered');
  await rejects(Gridhold.compile({ wasm: guest(), memory: 65535 }), LimitError);
  await rejects(Gridhold.compile({ wasm: new Uint8Array(8) }), CorruptError);
  for (let n = 0; n < guest().length; n++) {
    const error = await Gridhold.compile({ wasm: guest().slice(0, n) }).catch((e) => e);
    ok(error instanceof CorruptError || error instanceof WebAssembly.CompileError, `cut at ${n}: ${error}`);
  }
});
