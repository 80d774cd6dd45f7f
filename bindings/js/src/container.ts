// A Blosc2 container that is open, whatever its kind: what frames and stores
// have in common.

import { ContainerRead, ContainerWrite, Kind } from './abi.js';
import { ClosedError, StaleError } from './errors.js';
import type { FileSystem } from './files.js';
import type { Gridhold } from './gridhold.js';
import { Handle } from './handle.js';
import { decode, encode } from './msgpack.js';
import { pathOf, platform } from './platform.js';
import type { Runner } from './runner.js';

/** A container by its name in a file system: see `containerFile` of the subpath for Node. */
export interface FileSource {
  files: FileSystem;
  name: string;
}

/** @internal The file that a source is: in Node, a path too. */
export function fileOf(source: unknown): FileSource | undefined {
  if (typeof source === 'object' && source !== null && 'files' in source) return source as FileSource;
  const path = pathOf(source);
  return path === undefined ? undefined : platform.file!(path);
}

/** What a container is at the moment. Sizes are in bytes; what the kind lacks is absent. */
export interface ContainerState {
  kind: 'schunk' | 'ndarray' | 'batcharray' | 'objectarray' | 'embedstore' | 'dictstore' | 'treestore';
  /** Changes that were taken over since it was opened. */
  tick: number;
  shape?: number[];
  chunks?: number[];
  blocks?: number[];
  /** As NumPy writes it. */
  dtype?: string;
  typesize?: number;
  /** 0: chunks vary; -1: there was none yet. */
  chunksize?: number;
  blocksize?: number;
  nchunks?: number;
  nbytes?: number;
  cbytes?: number;
  codec?: string;
  level?: number;
  contiguous?: boolean;
  meta: string[];
  vlmeta: string[];
}

/** One thing that `verify` found. */
export interface ContainerDamage {
  item: string;
  /** Byte offset, or -1. */
  off: number;
  text: string;
  /** It may be whole, but takes a codec or filter that is not there. */
  unchecked?: boolean;
}

/** How a call is waited for. */
export interface CallOptions {
  /** An abort rejects with the signal's reason. A write that was aborted is committed whole or not at all. */
  signal?: AbortSignal | undefined;
}

/** Makes the request that opens a container on an instance. */
export type Opening = (guest: Runner) => Promise<{ kind: Kind; request: Uint8Array }>;

/** The part that every kind wraps: a handle, and calls on it. */
export class Core {
  readonly gridhold: Gridhold;
  readonly name: string;
  state!: ContainerState;
  #handle: Handle;

  private constructor(gridhold: Gridhold, name: string, opening: Opening, release: () => void, signal?: AbortSignal) {
    this.gridhold = gridhold;
    this.name = name;
    const kept: { state?: ContainerState } = {};
    this.#handle = new Handle(
      name,
      async (guest) => {
        const { kind, request } = await opening(guest);
        const reply = await guest.run(kind, request, kept.state === undefined ? signal : undefined);
        const state = parsed(reply.bytes) as ContainerState;
        kept.state ??= state;
        if (state.kind !== kept.state.kind) throw new StaleError(`${name}: it is a ${state.kind} by now`, { item: name });
        kept.state = state;
        return reply.object;
      },
      release,
    );
    this.#kept = kept;
  }

  #kept: { state?: ContainerState };

  /** Opens it for the first time, which the signal ends. */
  static async open(gridhold: Gridhold, name: string, opening: Opening, release: () => void, signal?: AbortSignal): Promise<Core> {
    const core = new Core(gridhold, name, opening, release, signal);
    try {
      await core.#handle.on(await gridhold.guest());
      core.state = core.#kept.state!;
      core.#handle.ownedBy(core);
      return core;
    } catch (error) {
      core.#handle.close();
      throw error;
    }
  }

  /** Its number on an instance. */
  on(guest: Runner): Promise<number> | number {
    return this.#handle.on(guest);
  }

  /** `container_read`. */
  async read(what: number, numbers: readonly number[], { signal }: CallOptions = {}, name = ''): Promise<Uint8Array<ArrayBuffer>> {
    const guest = await this.gridhold.guest();
    const request = packed(await this.on(guest), what, numbers, new TextEncoder().encode(name));
    return (await guest.run(Kind.containerRead, request, signal)).bytes;
  }

  /** `container_write`: one commit. */
  async write(what: number, numbers: readonly number[], data: Uint8Array, { signal }: CallOptions = {}): Promise<void> {
    const guest = await this.gridhold.guest();
    const request = packed(await this.on(guest), what, numbers, data);
    this.state = parsed((await guest.run(Kind.containerWrite, request, signal)).bytes) as ContainerState;
  }

  /** `container_do`. */
  async do(deed: Record<string, unknown>, { signal }: CallOptions = {}): Promise<unknown> {
    const guest = await this.gridhold.guest();
    const request = json({ container: await this.on(guest), ...deed });
    return parsed((await guest.run(Kind.containerDo, request, signal)).bytes);
  }

  /** What lies in it. */
  leaf(key: string, vlmeta = false, { signal }: CallOptions = {}): Promise<Core> {
    return Core.open(
      this.gridhold,
      key,
      async (guest) => ({ kind: Kind.containerOpen, request: json({ container: await this.on(guest), key, vlmeta }) }),
      () => {},
      signal,
    );
  }

  /** `container_do` that changes the container. */
  async change(deed: Record<string, unknown>, options?: CallOptions): Promise<void> {
    this.state = (await this.do(deed, options)) as ContainerState;
  }

  /** It, under its lock, until that is closed. */
  hold(shared: boolean, options?: CallOptions): Promise<Core> {
    return this.made({ do: 'hold', shared }, options);
  }

  /** What a deed makes of it, which ends with the guest that made it. */
  made(deed: Record<string, unknown>, { signal }: CallOptions = {}, name = this.name, release = () => {}, again?: object): Promise<Core> {
    let once = false;
    return Core.open(
      this.gridhold,
      name,
      async (guest) => {
        if (!once) {
          once = true;
          return { kind: Kind.containerDo, request: json({ container: await this.on(guest), ...deed }) };
        }
        if (again === undefined) throw new ClosedError(`${name}: it ended with the guest that had it`);
        return { kind: Kind.containerOpen, request: json(again) };
      },
      release,
      signal,
    );
  }

  /** Closes another one with it: what it was opened in. */
  keep(other: Core): void {
    this.#below = other;
  }

  #below: Core | undefined;

  /** Waits until it is closed. */
  async close(): Promise<void> {
    if (this.#handle.closed) return;
    await this.#handle.closeNow();
    await this.#below?.close();
  }
}

/** What every kind of container can do. */
export class Container {
  /** @internal */
  readonly core: Core;

  /** @internal */
  constructor(core: Core) {
    this.core = core;
  }

  /** `ndarray`, `schunk`, `treestore`, … */
  get kind(): ContainerState['kind'] {
    return this.core.state.kind;
  }

  /** Variable-length metalayers. */
  get vlmeta(): VLMeta {
    return new VLMeta(this.core);
  }

  /** The whole description, as `gridhold info --json` prints it. */
  info(options?: CallOptions): Promise<Record<string, unknown>> {
    return this.core.do({ do: 'describe' }, options) as Promise<Record<string, unknown>>;
  }

  /** A metalayer that keeps its length. Rejects with NotFoundError. */
  async meta(name: string, options?: CallOptions): Promise<unknown> {
    return decode(await this.core.read(ContainerRead.metalayer, [], options, name));
  }

  /** Takes over what was changed elsewhere, and says whether anything was. */
  async refresh(options?: CallOptions): Promise<boolean> {
    const before = await this.changeTick(options);
    await this.core.change({ do: 'refresh' }, options);
    return this.core.state.tick !== before;
  }

  /**
   * Gives `changeTick`, now and after each change that it takes over: it looks every `interval` milliseconds, and ends with
   * the signal, whose reason it rejects with, or when the loop over it is left.
   */
  async *watch({ interval = 20, signal }: CallOptions & { interval?: number } = {}): AsyncGenerator<number, never> {
    let tick = await this.changeTick({ signal });
    yield tick;
    for (;;) {
      await pause(interval, signal);
      if (!(await this.refresh({ signal })) && this.core.state.tick === tick) continue;
      tick = this.core.state.tick;
      yield tick;
    }
  }

  /** What it is now, to be read and then closed, whatever is written meanwhile. Not of a store that is many files. */
  async snapshot(options?: CallOptions): Promise<this> {
    return this.like(await this.core.made({ do: 'snapshot' }, options));
  }

  /** @internal Another one of its class. */
  protected like(core: Core): this {
    return new (this.constructor as new (core: Core) => this)(core);
  }

  /** Counts the changes that were taken over since it was opened. */
  async changeTick(options?: CallOptions): Promise<number> {
    return ((await this.core.do({ do: 'state' }, options)) as ContainerState).tick;
  }

  /**
   * Calls `use` with the container under its lock, which nobody else who locks has meanwhile: what it is by then, and as
   * it stays. `held` ends with the call; the container itself would wait for that. Several calls of `held` are seen as one.
   */
  holdingLock<T>(use: (held: this) => Promise<T>, options?: CallOptions): Promise<T> {
    return this.#holding(false, use, options);
  }

  /** As `holdingLock`, to read: others may read too. */
  holdingSharedLock<T>(use: (held: this) => Promise<T>, options?: CallOptions): Promise<T> {
    return this.#holding(true, use, options);
  }

  async #holding<T>(shared: boolean, use: (held: this) => Promise<T>, options?: CallOptions): Promise<T> {
    const held = this.like(await this.core.hold(shared, options));
    let result: T;
    try {
      result = await use(held);
    } catch (error) {
      await held.close().catch(() => {}); // the first failure is the one to tell of
      throw error;
    }
    await held.close();
    return result;
  }

  /** Decodes everything and says what is damaged. */
  verify(options?: CallOptions): Promise<{ checked: number; damaged: ContainerDamage[] }> {
    return this.core.do({ do: 'verify' }, options) as Promise<{ checked: number; damaged: ContainerDamage[] }>;
  }

  /** Rejects with what kept the writes from being safe. Twice is fine. */
  close(): Promise<void> {
    return this.core.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** Variable-length metalayers: what MessagePack has a form of, by name. */
export class VLMeta {
  #core: Core;

  /** @internal */
  constructor(core: Core) {
    this.#core = core;
  }

  async keys(options?: CallOptions): Promise<string[]> {
    return ((await this.#core.do({ do: 'state' }, options)) as ContainerState).vlmeta;
  }

  /** Rejects with NotFoundError. */
  async get(name: string, options?: CallOptions): Promise<unknown> {
    return decode(await this.#core.read(ContainerRead.vlmeta, [], options, name));
  }

  async set(name: string, value: unknown, options?: CallOptions): Promise<void> {
    const [key, raw] = [new TextEncoder().encode(name), encode(value)];
    const data = new Uint8Array(key.length + raw.length);
    data.set(key);
    data.set(raw, key.length);
    await this.#core.write(ContainerWrite.vlmeta, [key.length], data, options);
  }

  /** Rejects with NotFoundError. */
  delete(name: string, options?: CallOptions): Promise<void> {
    return this.#core.write(ContainerWrite.dropVlmeta, [], new TextEncoder().encode(name), options);
  }

  /** All of them. */
  async entries(options?: CallOptions): Promise<[string, unknown][]> {
    const found: [string, unknown][] = [];
    for (const name of await this.keys(options)) found.push([name, await this.get(name, options)]);
    return found;
  }
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const leave = () => {
      clearTimeout(timer);
      reject(signal!.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', leave);
      resolve();
    }, ms);
    signal?.addEventListener('abort', leave, { once: true });
  });
}

/** A request of `container_read` or `container_write`. */
function packed(handle: number, what: number, numbers: readonly number[], rest: Uint8Array): Uint8Array {
  const request = new Uint8Array(12 + 8 * numbers.length + rest.length);
  const v = new DataView(request.buffer);
  [handle, what, numbers.length].forEach((word, i) => v.setUint32(4 * i, word, true));
  numbers.forEach((n, i) => v.setBigInt64(12 + 8 * i, BigInt(n), true));
  request.set(rest, 12 + 8 * numbers.length);
  return request;
}

export function json(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}

function parsed(bytes: Uint8Array): unknown {
  return JSON.parse(new TextDecoder().decode(bytes)) as unknown;
}
