// The origin-private file system of a page as one that is lent to the guest: a
// worker does what is asked, so everything is answered later.

import { Code } from './abi.js';
import type { FileSource } from './container.js';
import { UnsupportedError, errorOf } from './errors.js';
import type { FileStat, FileSystem, OpenFile } from './files.js';
import type { PrivateFiles, PrivateStat, Told } from './opfs-messages.js';

/**
 * A file of the origin-private file system, by a name with slashes: for containers and scratches that a page writes and
 * finds again. Its directories are made as they are needed. While it is open nobody else opens it, of this page's origin
 * either: LockedError. Throws UnsupportedError where there is no such file system.
 */
export function originPrivate(name: string): FileSource {
  if (typeof Worker === 'undefined' || (globalThis as { navigator?: Navigator }).navigator?.storage?.getDirectory === undefined) {
    throw new UnsupportedError('there is no origin-private file system here', { item: name });
  }
  return { files: (shared ??= new PrivateFileSystem()), name };
}

let shared: PrivateFileSystem | undefined;

class PrivateFileSystem implements FileSystem {
  #worker = new Worker(new URL('./opfs-worker.js', import.meta.url), { type: 'module' });
  #waiting = new Map<number, { resolve: (value: never) => void; reject: (error: unknown) => void }>();
  #last = 0;

  constructor() {
    this.#worker.onmessage = ({ data }: { data: Told }) => {
      const waiting = this.#waiting.get(data.id);
      this.#waiting.delete(data.id);
      if ('value' in data) waiting?.resolve(data.value as never);
      else waiting?.reject(errorOf(Code[data.code], data.text));
    };
    this.#worker.onerror = (event) => {
      for (const { reject } of this.#waiting.values()) reject(new UnsupportedError(`the worker of private files: ${event.message}`));
      this.#waiting.clear();
    };
  }

  /** Asks the worker. */
  ask<K extends keyof PrivateFiles>(call: K, ...args: Parameters<PrivateFiles[K]>): Promise<ReturnType<PrivateFiles[K]>> {
    return new Promise((resolve, reject) => {
      const id = ++this.#last;
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ id, call, args });
    });
  }

  async open(name: string, flags: number): Promise<OpenFile> {
    return new PrivateFile(this, await this.ask('open', name, flags));
  }

  async stat(name: string): Promise<FileStat> {
    return statOf(await this.ask('stat', name));
  }

  rename(from: string, to: string, replace: boolean): Promise<void> {
    return this.ask('rename', from, to, replace);
  }

  remove(name: string): Promise<void> {
    return this.ask('remove', name);
  }

  mkdir(name: string): Promise<void> {
    return this.ask('mkdir', name);
  }

  names(name: string): Promise<string[]> {
    return this.ask('names', name);
  }

  syncDir(): void {} // the browser's to see to

  free(): Promise<number> {
    return this.ask('free');
  }
}

class PrivateFile implements OpenFile {
  #system: PrivateFileSystem;
  #file: number;

  constructor(system: PrivateFileSystem, file: number) {
    this.#system = system;
    this.#file = file;
  }

  readAt(into: Uint8Array, off: number): Promise<Uint8Array> {
    return this.#system.ask('readAt', this.#file, into.length, off);
  }

  writeAt(bytes: Uint8Array, off: number): Promise<void> {
    return this.#system.ask('writeAt', this.#file, bytes.slice(), off); // a part of the guest's memory, which would go along whole
  }

  truncate(size: number): Promise<void> {
    return this.#system.ask('truncate', this.#file, size);
  }

  sync(): Promise<void> {
    return this.#system.ask('sync', this.#file);
  }

  async stat(): Promise<FileStat> {
    return statOf(await this.#system.ask('statFile', this.#file));
  }

  lockRange(off: bigint, mode: number): Promise<void> {
    return this.#system.ask('lockRange', this.#file, off, mode);
  }

  close(): Promise<void> {
    return this.#system.ask('close', this.#file);
  }
}

function statOf({ size, mtime, ino, links, directory }: PrivateStat): FileStat {
  const mtimeNs = BigInt(Math.round(mtime)) * 1_000_000n;
  return { size: BigInt(size), mtimeNs, ctimeNs: mtimeNs, allocated: 0n, dev: 1n, ino: BigInt(ino), links: BigInt(links), directory };
}
