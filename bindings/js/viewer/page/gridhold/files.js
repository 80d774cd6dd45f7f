// The files that an instance has open, and its imports that are about files.
// They answer at once: whoever lends a file system lets its calls block.
import { Code, Path, Stat } from './abi.js';
import { ClosedError, InvalidError, LimitError, ReadOnlyError } from './errors.js';
/** Bits of `open`. */
export const OPEN = { read: 1, write: 2, create: 4, exclusive: 8, truncate: 16 };
/** The imports of one instance about files. */
export class Files {
    #memory;
    #system;
    #open = new Map();
    #last = 0;
    constructor(memory, system) {
        this.#memory = memory;
        this.#system = system;
    }
    /** How many files are open. */
    get count() {
        return this.#open.size;
    }
    /** Closes all: the instance is dead. */
    close() {
        for (const { file } of this.#open.values()) {
            try {
                file.close();
            }
            catch {
                // nobody is left to be told
            }
        }
        this.#open.clear();
    }
    /** The imports, which may throw; arguments after the token. */
    imports() {
        const none = (does) => {
            does();
            return 0;
        };
        return {
            open: (req, into) => {
                const { system, name, flags } = this.#path(req);
                const file = system.open(name, flags);
                this.#open.set(++this.#last, { file, write: (flags & OPEN.write) !== 0 });
                this.#memory.view().setUint32(into + Stat.id, this.#last, true);
                return 0;
            },
            stat: (req, into) => none(() => {
                const { system, name } = this.#path(req);
                this.#putStat(into, system.stat(name));
            }),
            rename: (req) => none(() => {
                const { system, name, to, flags } = this.#path(req);
                system.rename(name, to, (flags & 1) === 0);
            }),
            remove: (req) => none(() => {
                const { system, name } = this.#path(req);
                system.remove(name);
            }),
            mkdir: (req) => none(() => {
                const { system, name } = this.#path(req);
                system.mkdir(name);
            }),
            list_dir: (req, into) => this.#listDir(req, into),
            sync_dir: (req) => none(() => {
                const { system, name } = this.#path(req);
                system.syncDir(name);
            }),
            statfs: (req, into) => this.#statFS(req, into >>> 0),
            stat_file: (id, into) => none(() => this.#putStat(into, this.#file(id).stat())),
            read_at: (id, lo, hi, ptr, n) => this.#file(id).readAt(this.#memory.bytes(ptr >>> 0, n >>> 0), offset(lo, hi)),
            write_at: (id, lo, hi, ptr, n) => {
                this.#file(id, true).writeAt(this.#memory.bytes(ptr >>> 0, n >>> 0), offset(lo, hi));
                return n;
            },
            truncate: (id, lo, hi) => none(() => this.#file(id, true).truncate(offset(lo, hi))),
            sync: (id) => none(() => this.#file(id).sync()),
            close: (id) => none(() => {
                const file = this.#file(id);
                this.#open.delete(id >>> 0);
                file.close();
            }),
            // Neither Node nor a browser has calls for these.
            allocate: () => Code.Unsupported,
            punch: () => Code.Unsupported,
            lock_range: () => Code.Unsupported,
            copy: () => Code.Unsupported, // the guest copies by itself
        };
    }
    #path(at) {
        const req = at >>> 0;
        const u32 = (field) => this.#memory.u32(req + field);
        return {
            system: this.#system(u32(Path.fs)),
            flags: u32(Path.flags),
            name: this.#memory.text(u32(Path.name), u32(Path.nameLen)),
            to: this.#memory.text(u32(Path.to), u32(Path.toLen)),
            buf: u32(Path.buf),
            cap: u32(Path.cap),
        };
    }
    #file(id, write = false) {
        const open = this.#open.get(id >>> 0);
        if (open === undefined)
            throw new ClosedError('file: closed');
        if (write && !open.write)
            throw new ReadOnlyError('file: not open for writing');
        return open.file;
    }
    #listDir(req, into) {
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
    #statFS(req, into) {
        const { system, name, buf, cap } = this.#path(req);
        const kind = system.kind?.(name) ?? { name: '', network: false };
        const { written } = new TextEncoder().encodeInto(kind.name, this.#memory.bytes(buf, cap));
        const v = this.#memory.view();
        v.setBigInt64(into + Stat.size, BigInt(system.free(name)), true);
        v.setUint32(into + Stat.kind, kind.network ? Stat.isNetwork : 0, true);
        return written;
    }
    #putStat(into, s) {
        const v = this.#memory.view();
        const numbers = [s.size, s.mtimeNs, s.ctimeNs, s.allocated, s.dev, s.ino, s.links];
        numbers.forEach((n, i) => v.setBigInt64((into >>> 0) + 8 * i, BigInt.asIntN(64, n), true));
        v.setUint32((into >>> 0) + Stat.kind, s.directory ? Stat.isDirectory : Stat.isFile, true);
    }
}
/** Puts two halves together. Throws LimitError beyond 2^53, where numbers of JavaScript are no longer exact. */
function offset(lo, hi) {
    const off = (hi | 0) * 0x1_0000_0000 + (lo >>> 0);
    if (off < 0)
        throw new InvalidError('file: not a part of a file');
    if (!Number.isSafeInteger(off))
        throw new LimitError('file: an offset beyond 2^53');
    return off;
}
/** The file systems that instances may use, by number, while something is open in them. */
export class SystemTable {
    #systems = new Map();
    #next = 1;
    acquire(system) {
        this.#systems.set(this.#next, system);
        return this.#next++;
    }
    release(id) {
        this.#systems.delete(id);
    }
    get(id) {
        const system = this.#systems.get(id);
        if (system === undefined)
            throw new InvalidError(`file: there is no file system ${id}`);
        return system;
    }
}
