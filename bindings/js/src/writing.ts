// How containers are written: options of the binding as requests have them.

import type { CallOptions, Core, FileSource } from './container.js';
import { InvalidError } from './errors.js';
import { integers } from './request.js';

/** How a container is written. */
export interface WriteOptions {
  /** When what is written outlasts a power cut: on `close` (default), at every `commit`, `never`. */
  durability?: 'close' | 'commit' | 'never';
  /**
   * Whether each call locks the container against all others who lock it: python-blosc2, and Gridhold in any language.
   * Default: what the environment variable BLOSC_LOCKING says, else not.
   */
  locking?: boolean | 'if_possible';
  /** How long a call waits for the lock, in milliseconds; default: as long as it takes. Rejects with LockTimeoutError then. */
  lockTimeout?: number;
  /** Lock on a network's file system too. */
  lockNetwork?: boolean;
}

/** How chunks are packed, by the names of python-blosc2. */
export interface CParams {
  codec?: 'blosclz' | 'lz4' | 'lz4hc' | 'zlib' | 'zstd';
  /** 0 to 9; default 5. */
  clevel?: number;
  /** In the order in which they are applied; default `shuffle`. */
  filters?: ('nofilter' | 'shuffle' | 'bitshuffle' | 'delta' | 'trunc_prec' | 'bytedelta')[];
  filtersMeta?: number[];
}

/** How a frame is made. */
export interface CreateOptions extends WriteOptions {
  /** `x` (default): there must be nothing; `w`: what is there is replaced; `a`: what is there is opened. */
  mode?: 'x' | 'w' | 'a';
  cparams?: CParams;
  /** False: a directory with a file a chunk. */
  contiguous?: boolean;
  /** Keep a CRC-32C of each chunk, for `verify`. */
  checksums?: boolean;
}

/** How a copy is made. What is left out is as in what is copied. */
export interface CopyOptions extends CreateOptions, CallOptions {
  mode?: 'x' | 'w';
  /** Of an array. */
  chunks?: readonly number[];
  blocks?: readonly number[];
}

const filters = { nofilter: 0, shuffle: 1, bitshuffle: 2, delta: 3, trunc_prec: 4, bytedelta: 35 } as const;

/** The modes of `CreateOptions`. */
export const modes = { x: {}, w: { replace: true }, a: { or_open: true } } as const;

let copies = 0;

/** The deed that copies a container to a file, and how that is opened again when its instance has died. */
export function copying(core: Core, target: FileSource | undefined, options: CopyOptions) {
  const { mode = 'x', contiguous = core.state.contiguous ?? true, checksums = false, chunks, blocks } = options;
  for (const [what, numbers] of Object.entries({ chunks, blocks })) integers(what, numbers ?? []);
  const { systems } = core.gridhold;
  const fs = target === undefined ? 0 : systems.acquire(target.files);
  const place = { fs, name: target?.name ?? `copy-${++copies}`, ...how(options) };
  return {
    deed: { do: 'copy', ...packing(options.cparams), ...place, ...modes[mode], sparse: !contiguous, checksums, chunks, blocks },
    name: place.name,
    release: () => {
      if (target !== undefined) systems.release(fs);
    },
    again: target === undefined ? undefined : { ...place, write: true },
  };
}

/** The part of a request that says how to write and lock. */
export function how({ durability = 'close', locking, lockTimeout = 0, lockNetwork = false }: WriteOptions): object {
  const said = { true: 'always', false: 'never', if_possible: 'if_possible' }[`${locking ?? lockingOf()}`];
  if (said === undefined) throw new InvalidError(`locking: ${locking}: true, false or 'if_possible' is needed`);
  integers('lockTimeout', [lockTimeout]);
  return { durability, locking: said, lock_timeout_ms: lockTimeout, lock_network: lockNetwork };
}

/** What the environment asks for, as python-blosc2 reads it. */
function lockingOf(): boolean | 'if_possible' {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return ['', '0'].includes(process?.env?.BLOSC_LOCKING ?? '') ? false : 'if_possible';
}

/** `cparams` as the core has them. */
export function packing(cparams: CParams | undefined): object {
  if (cparams === undefined) return {};
  const { codec = 'zstd', clevel = 5, filters: names = ['shuffle'], filtersMeta = [] } = cparams;
  // One filter goes last, as the peer's do.
  const all = [...Array<'nofilter'>(Math.max(0, 6 - names.length)).fill('nofilter'), ...names];
  const metas = [...Array<number>(Math.max(0, 6 - names.length)).fill(0), ...filtersMeta];
  return { codec, level: clevel, filters: all.map((name, i) => [filters[name], metas[i] ?? 0]) };
}
