/// <reference types="node" />
// The files of a directory as objects.

import type { Dirent } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';

import { ClosedError, InvalidError, StaleError } from './errors.js';
import { FileHandle, failure, isMissing, openWithin, within } from './file-handle.js';
import type { ByteRange, ReadAnswer, Store } from './store.js';

/** How a directory is read. */
export interface FileOptions {
  /** How many files to keep open; default 128. */
  handles?: number;
  /**
   * How often the name of a kept file is looked up again, in milliseconds;
   * default 1000. A file replaced by rename is noticed at once anyway.
   */
  recheck?: number;
  /** Read with blocking calls: several times as fast where everything is in memory, and everything waits where it is not. */
  blocking?: boolean;
}

/** How often a file may be replaced or rewritten under one read. */
const ATTEMPTS = 5;

/**
 * A store of the files below a directory. Keys and symbolic links cannot lead
 * out of it: NotAllowedError. A version is size, times, inode and device of
 * the open file, asked after the bytes were read.
 */
export function fileStore(directory: string, options: FileOptions = {}): FileStore {
  return new FileStore(directory, options);
}

// A store that is forgotten must not leave its files open.
const forgotten = new FinalizationRegistry<Map<string, FileHandle>>(closeAll);

export class FileStore implements Store {
  #directory: string;
  #root: Promise<string> | undefined;
  #max: number;
  #recheck: number;
  #blocking: boolean;
  /** In the order of their last use. */
  #kept = new Map<string, FileHandle>();
  #opening = new Map<string, Promise<FileHandle | undefined>>();
  #closed = false;

  constructor(directory: string, options: FileOptions = {}) {
    this.#directory = directory;
    this.#max = Math.max(1, options.handles ?? 128);
    this.#recheck = options.recheck ?? 1000;
    this.#blocking = options.blocking ?? false;
    forgotten.register(this, this.#kept, this.#kept);
  }

  async read(
    key: string,
    ranges: readonly ByteRange[],
    version: string | undefined,
    signal?: AbortSignal,
  ): Promise<ReadAnswer | undefined> {
    if (!validKey(key)) throw new InvalidError(`${JSON.stringify(key)}: not a valid key`, { item: key });
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      signal?.throwIfAborted();
      const handle = await this.#handle(key);
      if (handle === undefined) return undefined;
      try {
        const answer = (this.#blocking ? handle.readNow(ranges, version) : undefined) ?? (await handle.read(ranges, version));
        if (answer !== undefined) return answer;
        if (handle.gone) this.#drop(handle);
      } finally {
        handle.release();
      }
    }
    throw new StaleError(`${key}: the file is being rewritten`, { item: key });
  }

  readNow(key: string, ranges: readonly ByteRange[], version: string | undefined): ReadAnswer | undefined {
    const kept = this.#blocking ? this.#kept.get(key) : undefined;
    if (kept === undefined || !kept.fresh(this.#recheck)) return undefined;
    const answer = kept.readNow(ranges, version);
    if (answer !== undefined && this.#kept.delete(key)) this.#kept.set(key, kept); // now the last used
    return answer;
  }

  async list(prefix: string): Promise<string[]> {
    if (prefix !== '' && !(prefix.endsWith('/') && validKey(prefix.slice(0, -1)))) {
      throw new InvalidError(`${JSON.stringify(prefix)}: not a valid prefix`, { item: prefix });
    }
    const root = await this.#rootPath();
    const names: string[] = [];
    try {
      const directory = await realpath(join(root, prefix));
      if (!within(root, directory)) return [];
      for (const entry of await readdir(directory, { withFileTypes: true })) {
        const name = await listed(root, directory, entry);
        if (name !== undefined) names.push(name);
      }
    } catch (error) {
      if (isMissing(error)) return [];
      throw failure(prefix, error);
    }
    return names.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  }

  /** Closes the files that are kept open; later reads are refused. Twice is fine. */
  close(): void {
    this.#closed = true;
    forgotten.unregister(this.#kept);
    closeAll(this.#kept);
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** The kept file of a key, with one more holder. */
  async #handle(key: string): Promise<FileHandle | undefined> {
    if (this.#closed) throw new ClosedError(`${this.#directory}: closed`);
    const kept = this.#kept.get(key);
    if (kept !== undefined) {
      kept.hold();
      if (await kept.leads(this.#recheck)) {
        if (this.#kept.delete(key)) this.#kept.set(key, kept); // now the last used
        return kept;
      }
      this.#drop(kept);
      kept.release();
    }
    let opening = this.#opening.get(key);
    if (opening === undefined) {
      opening = this.#open(key).finally(() => this.#opening.delete(key));
      this.#opening.set(key, opening);
    }
    const handle = await opening;
    handle?.hold();
    return handle;
  }

  async #open(key: string): Promise<FileHandle | undefined> {
    const root = await this.#rootPath();
    let opened: FileHandle | undefined;
    try {
      opened = await openWithin(root, key);
    } catch (error) {
      const code = ((error as Error).cause as { code?: string } | undefined)?.code;
      if (code !== 'EMFILE' && code !== 'ENFILE') throw error;
      closeAll(this.#kept);
      opened = await openWithin(root, key);
    }
    if (opened === undefined) return undefined;
    for (const oldest of this.#kept.values()) {
      if (this.#kept.size < this.#max) break;
      this.#drop(oldest);
    }
    this.#kept.set(key, opened);
    if (this.#closed) closeAll(this.#kept);
    return opened;
  }

  #drop(handle: FileHandle): void {
    if (this.#kept.get(handle.key) !== handle) return;
    this.#kept.delete(handle.key);
    handle.release();
  }

  #rootPath(): Promise<string> {
    this.#root ??= realpath(this.#directory).catch((error: unknown) => {
      this.#root = undefined;
      throw failure(this.#directory, error);
    });
    return this.#root;
  }
}

function closeAll(kept: Map<string, FileHandle>): void {
  for (const handle of kept.values()) handle.release();
  kept.clear();
}

/** What an entry is listed as: what can be an object or holds some, links only within the root. */
async function listed(root: string, directory: string, entry: Dirent): Promise<string | undefined> {
  if (!validKey(entry.name)) return undefined;
  let what: { isDirectory(): boolean; isFile(): boolean } = entry;
  if (entry.isSymbolicLink()) {
    try {
      const target = await realpath(join(directory, entry.name));
      if (!within(root, target)) return undefined;
      what = await stat(target);
    } catch {
      return undefined; // leads nowhere
    }
  }
  if (what.isDirectory()) return `${entry.name}/`;
  return what.isFile() ? entry.name : undefined;
}

function validKey(key: string): boolean {
  if (key.includes('\0') || key.includes('\\') || (process.platform === 'win32' && key.includes(':'))) return false;
  return key.split('/').every((name) => name !== '' && name !== '.' && name !== '..');
}
