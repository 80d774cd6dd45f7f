import { Code, Path, Stat } from './abi.js';
import { ClosedError, IOError, InvalidError, LimitError, ReadOnlyError } from './errors.js';
export const OPEN = { read: 1, write: 2, create: 4, exclusive: 8, truncate: 16 };
export class Later {
    value;
    give;
    constructor(value, give) {
        this.value = value;
        this.give = give;
    }
}
function step(value, give) {
    return value instanceof Promise ? new Later(value, give) : give(value);
}
const nothing = () => 0;
export class Files {
    #memory;
    #system;
    #open = new Map();
    #last = 0;
    #closed = false;
    constructor(memory, system) {
        this.#memory = memory;
        this.#system = system;
    }
    get count() {
        return this.#open.size;
    }
    close() {
        this.#closed = true;
        for (const { file } of this.#open.values())
            quietly(file);
        this.#open.clear();
    }
    imports() {
        return {
            open: (req, into) => {
                const { system, name, flags } = this.#path(req);
                return step(this.#kept(system.open(name, flags)), (file) => {
                    this.#open.set(++this.#last, { file, write: (flags & OPEN.write) !== 0 });
                    this.#memory.view().setUint32((into >>> 0) + Stat.id, this.#last, true);
                    return 0;
                });
            },
            stat: (req, into) => {
                const { system, name } = this.#path(req);
                return step(system.stat(name), (stat) => this.#putStat(into, stat));
            },
            rename: (req) => {
                const { system, name, to, flags } = this.#path(req);
                return step(system.rename(name, to, (flags & 1) === 0), nothing);
            },
            remove: (req) => {
                const { system, name } = this.#path(req);
                return step(system.remove(name), nothing);
            },
            mkdir: (req) => {
                const { system, name } = this.#path(req);
                return step(system.mkdir(name), nothing);
            },
            list_dir: (req, into) => {
                const { system, name, buf, cap } = this.#path(req);
                return step(system.names(name), (names) => this.#putNames(names, buf, cap, into >>> 0));
            },
            sync_dir: (req) => {
                const { system, name } = this.#path(req);
                return step(system.syncDir(name), nothing);
            },
            statfs: (req, into) => {
                const { system, name, buf, cap } = this.#path(req);
                return step(system.free(name), (free) => this.#putSpace(free, system.kind?.(name), buf, cap, into >>> 0));
            },
            stat_file: (id, into) => step(this.#file(id).stat(), (stat) => this.#putStat(into, stat)),
            read_at: (id, lo, hi, ptr, n) => {
                const read = this.#file(id).readAt(this.#memory.bytes(ptr >>> 0, n >>> 0), offset(lo, hi));
                return read instanceof Promise ? new Later(read, (bytes) => this.#put(bytes, ptr >>> 0, n >>> 0)) : read;
            },
            write_at: (id, lo, hi, ptr, n) => step(this.#file(id, true).writeAt(this.#memory.bytes(ptr >>> 0, n >>> 0), offset(lo, hi)), () => n),
            truncate: (id, lo, hi) => step(this.#file(id, true).truncate(offset(lo, hi)), nothing),
            sync: (id) => step(this.#file(id).sync(), nothing),
            close: (id) => {
                const file = this.#file(id);
                this.#open.delete(id >>> 0);
                return step(file.close(), nothing);
            },
            lock_range: (id, lo, hi, mode) => {
                const file = this.#file(id);
                return file.lockRange === undefined ? Code.Unsupported : step(file.lockRange((BigInt(hi >>> 0) << 32n) | BigInt(lo >>> 0), mode), nothing);
            },
            allocate: () => Code.Unsupported,
            punch: () => Code.Unsupported,
            copy: () => Code.Unsupported,
        };
    }
    #kept(opening) {
        if (!(opening instanceof Promise))
            return opening;
        return opening.then((file) => {
            if (!this.#closed)
                return file;
            quietly(file);
            throw new ClosedError('file: closed');
        });
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
    #put(bytes, ptr, most) {
        if (bytes.length > most)
            throw new IOError('file: more bytes than were asked for');
        this.#memory.bytes(ptr, bytes.length).set(bytes);
        return bytes.length;
    }
    #putNames(found, buf, cap, into) {
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
    #putSpace(free, kind, buf, cap, into) {
        const { written } = new TextEncoder().encodeInto(kind?.name ?? '', this.#memory.bytes(buf, cap));
        const v = this.#memory.view();
        v.setBigInt64(into + Stat.size, BigInt(free), true);
        v.setUint32(into + Stat.kind, kind?.network ? Stat.isNetwork : 0, true);
        return written;
    }
    #putStat(into, s) {
        const v = this.#memory.view();
        const numbers = [s.size, s.mtimeNs, s.ctimeNs, s.allocated, s.dev, s.ino, s.links];
        numbers.forEach((n, i) => v.setBigInt64((into >>> 0) + 8 * i, BigInt.asIntN(64, n), true));
        v.setUint32((into >>> 0) + Stat.kind, s.directory ? Stat.isDirectory : Stat.isFile, true);
        return 0;
    }
}
function quietly(file) {
    try {
        Promise.resolve(file.close()).catch(() => { });
    }
    catch {
    }
}
function offset(lo, hi) {
    const off = (hi | 0) * 0x1_0000_0000 + (lo >>> 0);
    if (off < 0)
        throw new InvalidError('file: not a part of a file');
    if (!Number.isSafeInteger(off))
        throw new LimitError('file: an offset beyond 2^53');
    return off;
}
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
