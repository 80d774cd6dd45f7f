/// <reference types="node" />
// One open file: what it holds, which version that is, and whether its name
// still leads to it.

import * as fs from 'node:fs';
import { lstat, readlink, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';

import { GridholdError, IOError, NotAllowedError, StaleError } from './errors.js';
import type { ByteRange, ReadAnswer } from './store.js';

/**
 * Longer than the time within which two changes of a file may get the same
 * stamp, in milliseconds. A file that changed more recently could change
 * again without a trace (what git calls racily clean).
 */
const TICK = 20;

let raced = 0;

/** One state of a file. */
interface State {
  size: number;
  mtimeNs: bigint;
  ctimeNs: bigint;
  stamp: string; // all that the system tells of it
  version: string; // the stamp, unless another state may have the same one
  changed: number; // ms since 1970
}

export class FileHandle {
  readonly key: string;
  #fd: number;
  #path: string;
  #identity: string;
  #holders = 1;
  #checked = performance.now();
  #known: State | undefined;
  /** Its name is gone: another file may have it now. */
  gone = false;

  /** Takes an open file over, for one holder. */
  constructor(key: string, path: string, fd: number, identity: string) {
    this.key = key;
    this.#path = path;
    this.#fd = fd;
    this.#identity = identity;
  }

  hold(): void {
    this.#holders++;
  }

  /** Closes the file with its last holder. */
  release(): void {
    if (--this.#holders === 0) fs.close(this.#fd, () => {}); // read only: nothing to lose
  }

  /** Whether its name leads to it; looked up when the last look is older than `recheck` milliseconds. */
  async leads(recheck: number): Promise<boolean> {
    if (this.gone) return false;
    const now = performance.now();
    if (now - this.#checked < recheck) return true;
    this.#checked = now;
    try {
      return identity(await stat(this.#path, { bigint: true })) === this.#identity;
    } catch {
      return false; // opening it anew will tell what is wrong
    }
  }

  /** Whether nothing has to be waited for before it may be read: see `leads`. */
  fresh(recheck: number): boolean {
    return !this.gone && performance.now() - this.#checked < recheck;
  }

  /** Reads ranges of one version; `undefined` where the file was replaced or rewritten meanwhile. Throws StaleError. */
  async read(ranges: readonly ByteRange[], want: string | undefined): Promise<ReadAnswer | undefined> {
    let before = this.#before(want);
    if (want === undefined && isRacy(before)) {
      await new Promise((resolve) => setTimeout(resolve, TICK + 2)); // timers may be early by one
      before = this.#look();
    }
    if (this.gone) return undefined;
    const { size } = before;
    const data = await Promise.all(
      ranges.map(async (range) => {
        const { off, out } = extent(range, size);
        let done = 0;
        for (let n = -1; n !== 0 && done < out.length; done += n) n = await this.#part(out, done, off + done);
        return out.subarray(0, done);
      }),
    );
    return this.#settle(data, before, want);
  }

  /** `read` with blocking calls; `undefined` also where it would have to wait. */
  readNow(ranges: readonly ByteRange[], want: string | undefined): ReadAnswer | undefined {
    const before = this.#before(want);
    if (this.gone || (want === undefined && isRacy(before))) return undefined;
    const data: Uint8Array[] = [];
    for (const range of ranges) {
      const { off, out } = extent(range, before.size);
      let done = 0;
      for (let n = -1; n !== 0 && done < out.length; done += n) n = this.#partNow(out, done, off + done);
      data.push(out.subarray(0, done));
    }
    return this.#settle(data, before, want);
  }

  /** The state before a read. With a wanted version only the state after it decides. */
  #before(want: string | undefined): State {
    if (want === undefined) return this.#look();
    if (this.#known?.version === want) return this.#known;
    const before = this.#look();
    if (before.version !== want && !this.gone) throw stale(this.key);
    return before;
  }

  /** An answer, if the state is still the one before. A range that came out short is one of a file that was cut. */
  #settle(data: Uint8Array[], before: State, want: string | undefined): ReadAnswer | undefined {
    const after = this.#look();
    if (this.gone) return undefined;
    if (after.stamp === before.stamp) return { data, size: before.size, version: before.version };
    if (want !== undefined) throw stale(this.key);
    return undefined;
  }

  /** Asks the system; of an open file that is answered from memory, so it may block. */
  #look(): State {
    let s: fs.BigIntStats;
    try {
      s = fs.fstatSync(this.#fd, { bigint: true });
    } catch (error) {
      throw failure(this.key, error);
    }
    if (s.nlink === 0n) this.gone = true;
    const known = this.#known;
    if (known !== undefined && s.mtimeNs === known.mtimeNs && s.ctimeNs === known.ctimeNs && Number(s.size) === known.size) return known;
    const { mtimeNs, ctimeNs } = s;
    const stamp = `${s.size.toString(36)}.${mtimeNs.toString(36)}.${ctimeNs.toString(36)}.${this.#identity}`;
    const changed = Number((mtimeNs > ctimeNs ? mtimeNs : ctimeNs) / 1_000_000n);
    const state = { size: Number(s.size), mtimeNs, ctimeNs, stamp, version: stamp, changed };
    if (isRacy(state)) state.version += `~${raced++}`; // no later version equals it
    else this.#known = state;
    return state;
  }

  /** Reads on from `off` into what `out` has left from `at`; answers how many bytes came, 0 at the file's end. */
  #part(out: Uint8Array, at: number, off: number): Promise<number> {
    return new Promise((resolve, reject) => {
      fs.read(this.#fd, out, at, out.length - at, off, (error, n) => (error ? reject(failure(this.key, error)) : resolve(n)));
    });
  }

  #partNow(out: Uint8Array, at: number, off: number): number {
    try {
      return fs.readSync(this.#fd, out, at, out.length - at, off);
    } catch (error) {
      throw failure(this.key, error);
    }
  }
}

/** Where a range of a file lies, and room for it. */
function extent(range: ByteRange, size: number): { off: number; out: Uint8Array } {
  if ('suffix' in range) {
    const off = Math.max(0, size - range.suffix);
    return { off, out: new Uint8Array(size - off) };
  }
  const most = Math.max(0, size - range.offset);
  return { off: range.offset, out: new Uint8Array(Math.min(range.length ?? most, most)) };
}

/** Opens a file below a root, which is a real path; `undefined` where there is none. Throws NotAllowedError for what lies outside. */
export async function openWithin(root: string, key: string): Promise<FileHandle | undefined> {
  const path = join(root, ...key.split('/'));
  let real: string;
  let fd: number;
  try {
    real = await realpath(path);
    if (!within(root, real)) throw leadsOut(key);
    // Not to wait for the writer of a pipe, nor to follow what became a link.
    const { O_RDONLY, O_NONBLOCK = 0, O_NOFOLLOW = 0 } = fs.constants;
    fd = await new Promise((resolve, reject) => {
      fs.open(real, O_RDONLY | O_NONBLOCK | O_NOFOLLOW, (error, fd) => (error ? reject(error) : resolve(fd)));
    });
  } catch (error) {
    if (!isMissing(error)) throw failure(key, error);
    await refuseLinkOut(root, key);
    return undefined;
  }
  try {
    const opened = fs.fstatSync(fd, { bigint: true });
    if (opened.isDirectory()) throw new IOError(`${key}: is a directory`, { item: key });
    if (!opened.isFile()) throw new IOError(`${key}: is not a regular file`, { item: key });
    const id = identity(opened);
    // A directory on the way may have become a link between the two calls.
    if (!(await isThere(root, real, fd, id))) throw leadsOut(key);
    return new FileHandle(key, path, fd, id);
  } catch (error) {
    fs.close(fd, () => {});
    throw failure(key, error);
  }
}

/** Whether an open file lies below the root. */
async function isThere(root: string, real: string, fd: number, id: string): Promise<boolean> {
  try {
    return within(root, await readlink(`/proc/self/fd/${fd}`)); // Linux tells what was opened in fact
  } catch {
    return (await realpath(real)) === real && identity(await stat(real, { bigint: true })) === id;
  }
}

/** A link that leads out is refused also where it leads nowhere, so that nobody learns what is out there. */
async function refuseLinkOut(root: string, key: string): Promise<void> {
  let path = root;
  for (const name of key.split('/')) {
    path = join(path, name);
    try {
      if ((await lstat(path)).isSymbolicLink() && !within(root, await realpath(path))) throw leadsOut(key);
    } catch (error) {
      if (error instanceof GridholdError) throw error;
      if (!isMissing(error)) throw failure(key, error);
      const isLink = await lstat(path).then((s) => s.isSymbolicLink(), () => false);
      if (isLink) throw leadsOut(key);
      return;
    }
  }
}

/** Whether a real path lies below a root, which is one too. */
export function within(root: string, real: string): boolean {
  return real === root || real.startsWith(root.endsWith(sep) ? root : root + sep);
}

export function isMissing(error: unknown): boolean {
  const code = (error as { code?: unknown }).code;
  return code === 'ENOENT' || code === 'ENOTDIR';
}

/** Gives an error of the system the kind that it is. */
export function failure(item: string, error: unknown): GridholdError {
  if (error instanceof GridholdError) return error;
  const { code, message } = error as { code?: string; message: string };
  const detail = { item, cause: error };
  if (code === 'EACCES' || code === 'EPERM' || code === 'ELOOP') return new NotAllowedError(`${item}: ${message}`, detail);
  return new IOError(`${item}: ${message}`, detail);
}

export function leadsOut(key: string): NotAllowedError {
  return new NotAllowedError(`${key}: leads out of the store`, { item: key });
}

function stale(key: string): StaleError {
  return new StaleError(`${key}: the file has changed`, { item: key });
}

function identity(s: fs.BigIntStats): string {
  return `${s.ino.toString(36)}.${s.dev.toString(36)}`;
}

function isRacy(s: State): boolean {
  return Math.abs(Date.now() - s.changed) < TICK;
}
