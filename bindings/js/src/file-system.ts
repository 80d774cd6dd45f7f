/// <reference types="node" />
// A directory as a file system that is lent to the guest: Node's blocking calls.

import * as fs from 'node:fs';
import { basename, dirname, join } from 'node:path';

import { ExistsError, IOError, InvalidError, NoSpaceError, NotFoundError, ReadOnlyError } from './errors.js';
import { failure, isMissing, leadsOut, within } from './file-handle.js';
import { lockers, type Locker } from './file-locks.js';
import { OPEN, type FileLock, type FileStat, type FileSystem, type OpenFile } from './files.js';

/**
 * The files below a directory. No name and no link leads out of it, unless
 * somebody swaps directories for links while a call is under way.
 */
export class NodeFileSystem implements FileSystem {
  #root: string;
  #locker: Locker;

  /** Throws NotFoundError where there is no such directory. `locker` is how files are locked. */
  constructor(directory: string, locker: Locker = lockers.any) {
    this.#root = told(directory, () => fs.realpathSync(directory));
    this.#locker = locker;
  }

  open(name: string, flags: number): OpenFile {
    return new NodeFile(name, this.descriptor(name, flags));
  }

  /** @internal As `open`; its descriptor, which is the caller's to close. */
  descriptor(name: string, flags: number): number {
    return told(name, () => {
      const { O_RDONLY, O_RDWR, O_CREAT, O_EXCL, O_TRUNC, O_NONBLOCK = 0, O_NOFOLLOW = 0 } = fs.constants;
      const has = (flag: number, how: number) => ((flags & flag) !== 0 ? how : 0);
      const how = has(OPEN.write | OPEN.truncate, O_RDWR) | has(OPEN.create, O_CREAT) | has(OPEN.exclusive, O_EXCL) | has(OPEN.truncate, O_TRUNC);
      const path = (flags & OPEN.create) !== 0 ? this.#made(name) : this.#real(checked(name));
      const fd = fs.openSync(path, (how === 0 ? O_RDONLY : how) | O_NONBLOCK | O_NOFOLLOW, 0o666);
      try {
        if (!fs.fstatSync(fd).isFile()) throw new IOError(`${name}: is not a regular file`, { item: name });
        return fd;
      } catch (error) {
        fs.closeSync(fd);
        throw error;
      }
    });
  }

  stat(name: string): FileStat {
    return told(name, () => statOf(fs.statSync(this.#real(name), { bigint: true })));
  }

  rename(from: string, to: string, replace: boolean): void {
    told(from, () => {
      const target = this.#beside(to);
      if (replace) {
        // POSIX would replace one that is empty.
        if (fs.lstatSync(target, { throwIfNoEntry: false })?.isDirectory()) throw new ExistsError(`${to}: is a directory`, { item: to });
        return fs.renameSync(this.#beside(from), target);
      }
      // Node cannot ask for this in one step. A link can, but not of a directory.
      const source = this.#beside(from);
      if (fs.lstatSync(source).isDirectory()) {
        if (fs.existsSync(target)) throw new ExistsError(`${to}: exists already`, { item: to });
        return fs.renameSync(source, target);
      }
      fs.linkSync(source, target);
      fs.unlinkSync(source);
    });
  }

  remove(name: string): void {
    told(name, () => {
      const path = this.#beside(name);
      if (fs.lstatSync(path).isDirectory()) fs.rmdirSync(path);
      else fs.unlinkSync(path);
    });
  }

  mkdir(name: string): void {
    told(name, () => fs.mkdirSync(this.#beside(name)));
  }

  names(name: string): string[] {
    return told(name, () => {
      const directory = this.#real(name);
      const names: string[] = [];
      for (const entry of fs.readdirSync(directory)) {
        try {
          const what = fs.statSync(this.#within(join(directory, entry), entry));
          if (what.isDirectory()) names.push(`${entry}/`);
          else if (what.isFile()) names.push(entry);
        } catch {
          // what cannot be opened is not there
        }
      }
      return names.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    });
  }

  syncDir(name: string): void {
    if (process.platform === 'win32') return; // directories need and take no sync there
    told(name, () => {
      const fd = fs.openSync(this.#real(name), fs.constants.O_RDONLY | (fs.constants.O_DIRECTORY ?? 0));
      try {
        fs.fsyncSync(fd);
      } finally {
        fs.closeSync(fd);
      }
    });
  }

  free(name: string): number {
    return told(name, () => {
      const s = fs.statfsSync(this.#real(name));
      return s.bavail * s.bsize;
    });
  }

  kind(name: string): { name: string; network: boolean } {
    return told(name, () => kindOf(fs.statfsSync(this.#real(name)).type));
  }

  lock(name: string, exclusive: boolean, signal: AbortSignal): Promise<FileLock> {
    return this.#locker(this, name, exclusive, signal);
  }

  /** @internal The path of a name whose directory is there. */
  path(name: string): string {
    return told(name, () => this.#beside(name));
  }

  /** The real path of what is there. */
  #real(name: string): string {
    return this.#within(name === '' ? this.#root : join(this.#root, ...checked(name).split('/')), name);
  }

  #within(path: string, name: string): string {
    const real = fs.realpathSync(path);
    if (!within(this.#root, real)) throw leadsOut(name);
    return real;
  }

  /** A name in its real directory, which itself may be a link or nothing. */
  #beside(name: string): string {
    const path = join(this.#root, ...checked(name).split('/'));
    return join(this.#within(dirname(path), name), basename(path));
  }

  /** The real path of what is there, or where it is to be made. */
  #made(name: string): string {
    const path = this.#beside(name);
    return fs.existsSync(path) ? this.#within(path, name) : path;
  }
}

class NodeFile implements OpenFile {
  #name: string;
  #fd: number;

  constructor(name: string, fd: number) {
    this.#name = name;
    this.#fd = fd;
  }

  readAt(into: Uint8Array, off: number): number {
    return told(this.#name, () => {
      let done = 0;
      while (done < into.length) {
        const n = fs.readSync(this.#fd, into, done, into.length - done, off + done);
        if (n === 0) break;
        done += n;
      }
      return done;
    });
  }

  writeAt(bytes: Uint8Array, off: number): void {
    told(this.#name, () => {
      for (let done = 0; done < bytes.length; ) done += fs.writeSync(this.#fd, bytes, done, bytes.length - done, off + done);
    });
  }

  truncate(size: number): void {
    told(this.#name, () => fs.ftruncateSync(this.#fd, size));
  }

  sync(): void {
    told(this.#name, () => fs.fsyncSync(this.#fd));
  }

  stat(): FileStat {
    return told(this.#name, () => statOf(fs.fstatSync(this.#fd, { bigint: true })));
  }

  close(): void {
    told(this.#name, () => fs.closeSync(this.#fd));
  }
}

/** File systems of a network, by the numbers that Linux has for them. Elsewhere Node does not tell. */
const networks = new Map([
  [0x6969, 'nfs'], [0x517b, 'smb'], [0xff534d42, 'cifs'], [0xfe534d42, 'smb2'], [0x0bd00bd0, 'lustre'], [0x47504653, 'gpfs'],
  [0x19830326, 'beegfs'], [0x00c36400, 'ceph'], [0x01021997, '9p'], [0x5346414f, 'afs'], [0x73757245, 'coda'],
]);

function kindOf(type: number): { name: string; network: boolean } {
  const name = process.platform === 'linux' ? networks.get(type >>> 0) : undefined;
  return { name: name ?? '', network: name !== undefined };
}

function statOf(s: fs.BigIntStats): FileStat {
  return {
    size: s.size,
    mtimeNs: s.mtimeNs,
    ctimeNs: s.ctimeNs,
    allocated: (s.blocks ?? 0n) * 512n,
    dev: s.dev,
    ino: s.ino,
    links: s.nlink,
    directory: s.isDirectory(),
  };
}

/** Names are those of keys. */
function checked(name: string): string {
  const right = !name.includes('\0') && name.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
  if (!right) throw new InvalidError(`${JSON.stringify(name)}: not a name`, { item: name });
  return name;
}

/** Turns the system's errors into ours, which name the file. */
function told<T>(name: string, call: () => T): T {
  try {
    return call();
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    const detail = { item: name, cause: error };
    if (isMissing(error)) throw new NotFoundError(`${name}: not found`, detail);
    if (code === 'EEXIST' || code === 'ENOTEMPTY') throw new ExistsError(`${name}: exists already`, detail);
    if (code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG') throw new NoSpaceError(`${name}: no space left`, detail);
    if (code === 'EROFS') throw new ReadOnlyError(`${name}: ${message}`, detail);
    throw failure(name, error);
  }
}
