// The files that an instance has open, and its imports that are about files.
// They answer at once: whoever lends a file system lets its calls block.

import { Code, Path, Stat } from './abi.js';
import { ClosedError, InvalidError, LimitError, ReadOnlyError } from './errors.js';
import type { Memory } from './memory.js';

/** What is told of a file or directory. Sizes in bytes, times in nanoseconds. */
export interface FileStat {
  size: bigint;
  mtimeNs: bigint;
  ctimeNs: bigint;
  allocated: bigint;
  dev: bigint;
  ino: bigint;
  links: bigint;
  directory: boolean;
}

/** One open file. Its methods throw GridholdErrors. */
export interface OpenFile {
  /** Fills `into` from `off`; fewer bytes only where the file ends. */
  readAt(into: Uint8Array, off: number): number;
  writeAt(bytes: Uint8Array, off: number): void;
  truncate(size: number): void;
  sync(): void;
  stat(): FileStat;
  close(): void;
}

/** Bits of `open`. */
export const OPEN = { read: 1, write: 2, create: 4, exclusive: 8, truncate: 16 } as const;

/**
 * The files below a directory, by names with slashes. No name leads out. All
 * methods block, and throw GridholdErrors.
 */
export interface FileSystem {
  open(name: string, flags: number): OpenFile;
  /** Of the root for `""`. */
  stat(name: string): FileStat;
  rename(from: string, to: string, replace: boolean): void;
  /** A file or an empty directory. */
  remove(name: string): void;
  mkdir(name: string): void;
  /** Names in a directory; those of directories end in a slash. */
  names(name: string): string[];
  syncDir(name: string): void;
  /** Bytes that may still be written; -1: not known. */
  free(name: string): number;
  /** What kind it is, where that is known: locks on one of a network's are refused unless they are asked for. */
  kind?(name: string): { name: string; network: boolean };
  /**
   * Waits for the lock of a file, which is made where there is none, until the signal. Without it there are no locks. Two
   * of one process keep each other out as two processes do, and the end of the process gives them back.
   */
  lock?(name: string, exclusive: boolean, signal: AbortSignal): Promise<FileLock>;
}

/** A lock that is held. */
export interface FileLock {
  /** Gives it back. */
  release(): void;
}

/** The imports of one instance about files. */
export class Files {
  #memory: Memory;
  #system: (id: number) => FileSystem;
  #open = new Map<number, { file: OpenFile; write: boolean }>();
  #last = 0;

  constructor(memory: Memory, system: (id: number) => FileSystem) {
    this.#memory = memory;
    this.#system = system;
  }

  /** How many files are open. */
  get count(): number {
    return this.#open.size;
  }

  /** Closes all: the instance is dead. */
  close(): void {
    for (const { file } of this.#open.values()) {
      try {
        file.close();
      } catch {
        // nobody is left to be told
      }
    }
    this.#open.clear();
  }

  /** The imports, which may throw; arguments after the token. */
  imports(): Record<string, (...args: number[]) => number> {
    const none = (does: () => void) => {
      does();
      return 0;
    };
    return {
      open: (req, into) => {
        const { system, name, flags } = this.#path(req!);
        const file = system.open(name, flags);
        this.#open.set(++this.#last, { file, write: (flags & OPEN.write) !== 0 });
        this.#memory.view().setUint32(into! + Stat.id, this.#last, true);
        return 0;
      },
      stat: (req, into) => none(() => {
        const { system, name } = this.#path(req!);
        this.#putStat(into!, system.stat(name));
      }),
      rename: (req) => none(() => {
        const { system, name, to, flags } = this.#path(req!);
        system.rename(name, to, (flags & 1) === 0);
      }),
      remove: (req) => none(() => {
        const { system, name } = this.#path(req!);
        system.remove(name);
      }),
      mkdir: (req) => none(() => {
        const { system, name } = this.#path(req!);
        system.mkdir(name);
      }),
      list_dir: (req, into) => this.#listDir(req!, into!),
      sync_dir: (req) => none(() => {
        const { system, name } = this.#path(req!);
        system.syncDir(name);
      }),
      statfs: (req, into) => this.#statFS(req!, into! >>> 0),
      stat_file: (id, into) => none(() => this.#putStat(into!, this.#file(id!).stat())),
      read_at: (id, lo, hi, ptr, n) => this.#file(id!).readAt(this.#memory.bytes(ptr! >>> 0, n! >>> 0), offset(lo!, hi!)),
      write_at: (id, lo, hi, ptr, n) => {
        this.#file(id!, true).writeAt(this.#memory.bytes(ptr! >>> 0, n! >>> 0), offset(lo!, hi!));
        return n!;
      },
      truncate: (id, lo, hi) => none(() => this.#file(id!, true).truncate(offset(lo!, hi!))),
      sync: (id) => none(() => this.#file(id!).sync()),
      close: (id) => none(() => {
        const file = this.#file(id!);
        this.#open.delete(id! >>> 0);
        file.close();
      }),
      // Neither Node nor a browser has calls for these.
      allocate: () => Code.Unsupported,
      punch: () => Code.Unsupported,
      lock_range: () => Code.Unsupported,
      copy: () => Code.Unsupported, // the guest copies by itself
    };
  }

  #path(at: number): { system: FileSystem; flags: number; name: string; to: string; buf: number; cap: number } {
    const req = at >>> 0;
    const u32 = (field: number) => this.#memory.u32(req + field);
    return {
      system: this.#system(u32(Path.fs)),
      flags: u32(Path.flags),
      name: this.#memory.text(u32(Path.name), u32(Path.nameLen)),
      to: this.#memory.text(u32(Path.to), u32(Path.toLen)),
      buf: u32(Path.buf),
      cap: u32(Path.cap),
    };
  }

  #file(id: number, write = false): OpenFile {
    const open = this.#open.get(id >>> 0);
    if (open === undefined) throw new ClosedError('file: closed');
    if (write && !open.write) throw new ReadOnlyError('file: not open for writing');
    return open.file;
  }

  #listDir(req: number, into: number): number {
    const { system, name, buf, cap } = this.#path(req);
    const names = system.names(name).map((each) => new TextEncoder().encode(each));
    const size = names.reduce((sum, each) => sum + 4 + each.length, 0);
    const v = this.#memory.view();
    if (size > cap) {
      v.setBigInt64((into >>> 0) + Stat.size, BigInt(size), true);
      return Code.TooSmall;
    }
    let at = buf;
    for (const each of names) {
      v.setUint32(at, each.length, true);
      this.#memory.bytes(at + 4, each.length).set(each);
      at += 4 + each.length;
    }
    return size;
  }

  #statFS(req: number, into: number): number {
    const { system, name, buf, cap } = this.#path(req);
    const kind = system.kind?.(name) ?? { name: '', network: false };
    const { written } = new TextEncoder().encodeInto(kind.name, this.#memory.bytes(buf, cap));
    const v = this.#memory.view();
    v.setBigInt64(into + Stat.size, BigInt(system.free(name)), true);
    v.setUint32(into + Stat.kind, kind.network ? Stat.isNetwork : 0, true);
    return written;
  }

  #putStat(into: number, s: FileStat): void {
    const v = this.#memory.view();
    const numbers = [s.size, s.mtimeNs, s.ctimeNs, s.allocated, s.dev, s.ino, s.links];
    numbers.forEach((n, i) => v.setBigInt64((into >>> 0) + 8 * i, BigInt.asIntN(64, n), true));
    v.setUint32((into >>> 0) + Stat.kind, s.directory ? Stat.isDirectory : Stat.isFile, true);
  }
}

/** Puts two halves together. Throws LimitError beyond 2^53, where numbers of JavaScript are no longer exact. */
function offset(lo: number, hi: number): number {
  const off = (hi | 0) * 0x1_0000_0000 + (lo >>> 0);
  if (off < 0) throw new InvalidError('file: not a part of a file');
  if (!Number.isSafeInteger(off)) throw new LimitError('file: an offset beyond 2^53');
  return off;
}

/** The file systems that instances may use, by number, while something is open in them. */
export class SystemTable {
  #systems = new Map<number, FileSystem>();
  #next = 1;

  acquire(system: FileSystem): number {
    this.#systems.set(this.#next, system);
    return this.#next++;
  }

  release(id: number): void {
    this.#systems.delete(id);
  }

  get(id: number): FileSystem {
    const system = this.#systems.get(id);
    if (system === undefined) throw new InvalidError(`file: there is no file system ${id}`);
    return system;
  }
}
