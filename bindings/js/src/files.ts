// The files that an instance has open, and its imports that are about files.
// They answer at once where the file system does, whose calls may block.

import { Code, Path, Stat } from './abi.js';
import { ClosedError, IOError, InvalidError, LimitError, ReadOnlyError } from './errors.js';
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

/** What a file system answers, at once or later. One that blocks answers at once, at less than a tenth of the cost. */
export type Now<T> = T | Promise<T>;

/** One open file. Its methods throw, or reject with, GridholdErrors. */
export interface OpenFile {
  /**
   * Fills `into` from `off`, and answers how many bytes; or answers them later, for `into` is there until it returns and
   * no longer. Fewer bytes only where the file ends.
   */
  readAt(into: Uint8Array, off: number): number | Promise<Uint8Array>;
  /** `bytes` are there until it returns. */
  writeAt(bytes: Uint8Array, off: number): Now<void>;
  truncate(size: number): Now<void>;
  sync(): Now<void>;
  stat(): Now<FileStat>;
  /** The one byte at `off`, for this open file: 1 shared, 2 exclusive, 0 unlock. Never waits: LockedError. Without it there are none. */
  lockRange?(off: bigint, mode: number): Now<void>;
  close(): Now<void>;
}

/** Bits of `open`. */
export const OPEN = { read: 1, write: 2, create: 4, exclusive: 8, truncate: 16 } as const;

/**
 * The files below a directory, by names with slashes. No name leads out. Its methods throw, or reject with,
 * GridholdErrors.
 */
export interface FileSystem {
  open(name: string, flags: number): Now<OpenFile>;
  /** Of the root for `""`. */
  stat(name: string): Now<FileStat>;
  rename(from: string, to: string, replace: boolean): Now<void>;
  /** A file or an empty directory. */
  remove(name: string): Now<void>;
  mkdir(name: string): Now<void>;
  /** Names in a directory; those of directories end in a slash. */
  names(name: string): Now<string[]>;
  syncDir(name: string): Now<void>;
  /** Bytes that may still be written; -1: not known. */
  free(name: string): Now<number>;
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

/** An answer that is to come; `give` then lays it where it is wanted, and counts it. */
export class Later<T = unknown> {
  constructor(
    readonly value: Promise<T>,
    readonly give: (value: T) => number,
  ) {}
}

function step<T>(value: Now<T>, give: (value: T) => number): number | Later {
  return value instanceof Promise ? (new Later(value, give) as Later) : give(value);
}

const nothing = () => 0;

/** The imports of one instance about files. */
export class Files {
  #memory: Memory;
  #system: (id: number) => FileSystem;
  #open = new Map<number, { file: OpenFile; write: boolean }>();
  #last = 0;
  #closed = false;

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
    this.#closed = true;
    for (const { file } of this.#open.values()) quietly(file);
    this.#open.clear();
  }

  /** The imports, which may throw; arguments after the token. */
  imports(): Record<string, (...args: number[]) => number | Later> {
    return {
      open: (req, into) => {
        const { system, name, flags } = this.#path(req!);
        return step(this.#kept(system.open(name, flags)), (file) => {
          this.#open.set(++this.#last, { file, write: (flags & OPEN.write) !== 0 });
          this.#memory.view().setUint32((into! >>> 0) + Stat.id, this.#last, true);
          return 0;
        });
      },
      stat: (req, into) => {
        const { system, name } = this.#path(req!);
        return step(system.stat(name), (stat) => this.#putStat(into!, stat));
      },
      rename: (req) => {
        const { system, name, to, flags } = this.#path(req!);
        return step(system.rename(name, to, (flags & 1) === 0), nothing);
      },
      remove: (req) => {
        const { system, name } = this.#path(req!);
        return step(system.remove(name), nothing);
      },
      mkdir: (req) => {
        const { system, name } = this.#path(req!);
        return step(system.mkdir(name), nothing);
      },
      list_dir: (req, into) => {
        const { system, name, buf, cap } = this.#path(req!);
        return step(system.names(name), (names) => this.#putNames(names, buf, cap, into! >>> 0));
      },
      sync_dir: (req) => {
        const { system, name } = this.#path(req!);
        return step(system.syncDir(name), nothing);
      },
      statfs: (req, into) => {
        const { system, name, buf, cap } = this.#path(req!);
        return step(system.free(name), (free) => this.#putSpace(free, system.kind?.(name), buf, cap, into! >>> 0));
      },
      stat_file: (id, into) => step(this.#file(id!).stat(), (stat) => this.#putStat(into!, stat)),
      read_at: (id, lo, hi, ptr, n) => {
        const read = this.#file(id!).readAt(this.#memory.bytes(ptr! >>> 0, n! >>> 0), offset(lo!, hi!));
        return read instanceof Promise ? (new Later(read, (bytes) => this.#put(bytes, ptr! >>> 0, n! >>> 0)) as Later) : read;
      },
      write_at: (id, lo, hi, ptr, n) =>
        step(this.#file(id!, true).writeAt(this.#memory.bytes(ptr! >>> 0, n! >>> 0), offset(lo!, hi!)), () => n!),
      truncate: (id, lo, hi) => step(this.#file(id!, true).truncate(offset(lo!, hi!)), nothing),
      sync: (id) => step(this.#file(id!).sync(), nothing),
      close: (id) => {
        const file = this.#file(id!);
        this.#open.delete(id! >>> 0);
        return step(file.close(), nothing);
      },
      lock_range: (id, lo, hi, mode) => {
        const file = this.#file(id!);
        return file.lockRange === undefined ? Code.Unsupported : step(file.lockRange((BigInt(hi! >>> 0) << 32n) | BigInt(lo! >>> 0), mode!), nothing);
      },
      // Neither Node nor a browser has calls for these.
      allocate: () => Code.Unsupported,
      punch: () => Code.Unsupported,
      copy: () => Code.Unsupported, // the guest copies by itself
    };
  }

  /** A file that opens only after the instance has died is closed. */
  #kept(opening: Now<OpenFile>): Now<OpenFile> {
    if (!(opening instanceof Promise)) return opening;
    return opening.then((file) => {
      if (!this.#closed) return file;
      quietly(file);
      throw new ClosedError('file: closed');
    });
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

  #put(bytes: Uint8Array, ptr: number, most: number): number {
    if (bytes.length > most) throw new IOError('file: more bytes than were asked for');
    this.#memory.bytes(ptr, bytes.length).set(bytes);
    return bytes.length;
  }

  #putNames(found: string[], buf: number, cap: number, into: number): number {
    const names = found.map((each) => new TextEncoder().encode(each));
    const size = names.reduce((sum, each) => sum + 4 + each.length, 0);
    const v = this.#memory.view();
    if (size > cap) {
      v.setBigInt64(into + Stat.size, BigInt(size), true);
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

  #putSpace(free: number, kind: { name: string; network: boolean } | undefined, buf: number, cap: number, into: number): number {
    const { written } = new TextEncoder().encodeInto(kind?.name ?? '', this.#memory.bytes(buf, cap));
    const v = this.#memory.view();
    v.setBigInt64(into + Stat.size, BigInt(free), true);
    v.setUint32(into + Stat.kind, kind?.network ? Stat.isNetwork : 0, true);
    return written;
  }

  #putStat(into: number, s: FileStat): number {
    const v = this.#memory.view();
    const numbers = [s.size, s.mtimeNs, s.ctimeNs, s.allocated, s.dev, s.ino, s.links];
    numbers.forEach((n, i) => v.setBigInt64((into >>> 0) + 8 * i, BigInt.asIntN(64, n), true));
    v.setUint32((into >>> 0) + Stat.kind, s.directory ? Stat.isDirectory : Stat.isFile, true);
    return 0;
  }
}

/** Closes a file of which nobody is left to be told. */
function quietly(file: OpenFile): void {
  try {
    Promise.resolve(file.close()).catch(() => {});
  } catch {
    // as above
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
