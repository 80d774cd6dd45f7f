import { ExistsError, GridholdError, IOError, InvalidError, LockedError } from './errors.js';
import { OPEN } from './files.js';
const byName = new Map();
const byNumber = new Map();
const inodes = new Map();
let last = 0;
function inode(name) {
    let ino = inodes.get(name);
    if (ino === undefined)
        inodes.set(name, (ino = ++last));
    return ino;
}
async function directory(parts, create = false) {
    let at = await navigator.storage.getDirectory();
    for (const part of parts)
        at = await at.getDirectoryHandle(part, { create });
    return at;
}
async function placed(name, create = false) {
    const parts = name.split('/');
    if (!parts.every((part) => part !== '' && part !== '.' && part !== '..'))
        throw new InvalidError(`${JSON.stringify(name)}: not a name`);
    const base = parts.pop();
    return [await directory(parts, create), base];
}
async function exists(name) {
    try {
        const [at, base] = await placed(name);
        await at.getFileHandle(base);
        return true;
    }
    catch (error) {
        const { name: what } = error;
        if (what === 'TypeMismatchError')
            return true;
        if (what === 'NotFoundError')
            return false;
        throw error;
    }
}
function opened(file) {
    const open = byNumber.get(file);
    if (open?.access === undefined)
        throw new IOError('the file was removed');
    return open;
}
function statOf({ access, mtime, ino, gone }) {
    return { size: access?.getSize() ?? 0, mtime, ino, links: gone ? 0 : 1, directory: false };
}
function shut(open) {
    open.access?.close();
    open.access = undefined;
}
const files = {
    async open(name, flags) {
        const has = (flag) => (flags & flag) !== 0;
        if (has(OPEN.exclusive) && (await exists(name)))
            throw new ExistsError(`${name}: exists already`);
        let open = byName.get(name);
        if (open === undefined) {
            const [at, base] = await placed(name, has(OPEN.create));
            const handle = (await at.getFileHandle(base, { create: has(OPEN.create) }));
            const access = await handle.createSyncAccessHandle();
            open = { name, handle, access, users: 0, ino: inode(name), mtime: Date.now(), gone: false, locks: new Map() };
            byName.set(name, open);
        }
        if (has(OPEN.truncate))
            open.access.truncate(0);
        open.users++;
        byNumber.set(++last, open);
        return last;
    },
    async stat(name) {
        const open = byName.get(name);
        if (open !== undefined)
            return statOf(open);
        if (name === '')
            return { size: 0, mtime: 0, ino: inode(''), links: 1, directory: true };
        const [at, base] = await placed(name);
        try {
            const { size, lastModified } = await (await at.getFileHandle(base)).getFile();
            return { size, mtime: lastModified, ino: inode(name), links: 1, directory: false };
        }
        catch (error) {
            if (error.name !== 'TypeMismatchError')
                throw error;
            return { size: 0, mtime: 0, ino: inode(name), links: 1, directory: true };
        }
    },
    async rename(from, to, replace) {
        const there = byName.get(to);
        if (!replace && (await exists(to)))
            throw new ExistsError(`${to}: exists already`);
        const [at, base] = await placed(from);
        const [target, name] = await placed(to);
        const handle = (await at.getFileHandle(base));
        if (there !== undefined) {
            shut(there);
            there.gone = true;
            byName.delete(to);
        }
        const open = byName.get(from);
        if (open !== undefined)
            shut(open);
        await handle.move(target, name);
        const ino = inode(from);
        inodes.delete(from);
        inodes.set(to, ino);
        if (open === undefined)
            return;
        byName.delete(from);
        byName.set(to, open);
        open.name = to;
        open.handle = (await target.getFileHandle(name));
        open.access = await open.handle.createSyncAccessHandle();
    },
    async remove(name) {
        const [at, base] = await placed(name);
        const open = byName.get(name);
        if (open !== undefined) {
            shut(open);
            open.gone = true;
            byName.delete(name);
        }
        await at.removeEntry(base);
        inodes.delete(name);
    },
    async mkdir(name) {
        if (await exists(name))
            throw new ExistsError(`${name}: exists already`);
        const [at, base] = await placed(name);
        await at.getDirectoryHandle(base, { create: true });
    },
    async names(name) {
        const at = await directory(name === '' ? [] : name.split('/'), true);
        const found = [];
        for await (const [base, { kind }] of at.entries()) {
            found.push(kind === 'directory' ? `${base}/` : base);
        }
        return found.sort();
    },
    async free() {
        const { quota, usage } = await navigator.storage.estimate();
        return quota === undefined || usage === undefined ? -1 : Math.max(0, quota - usage);
    },
    readAt(file, length, off) {
        const into = new Uint8Array(length);
        return into.subarray(0, opened(file).access.read(into, { at: off }));
    },
    writeAt(file, bytes, off) {
        const open = opened(file);
        open.mtime = Date.now();
        for (let done = 0; done < bytes.length;)
            done += open.access.write(bytes.subarray(done), { at: off + done });
    },
    truncate: (file, size) => opened(file).access.truncate(size),
    sync: (file) => opened(file).access.flush(),
    statFile: (file) => statOf(byNumber.get(file)),
    lockRange(file, off, mode) {
        const { locks } = byNumber.get(file);
        const holders = locks.get(off) ?? new Map();
        locks.set(off, holders);
        if (mode === 0)
            return void holders.delete(file);
        const others = [...holders].filter(([holder]) => holder !== file);
        if (others.some(([, held]) => mode === 2 || held === 2))
            throw new LockedError(`byte ${off} is locked`);
        holders.set(file, mode);
    },
    close(file) {
        const open = byNumber.get(file);
        if (open === undefined)
            return;
        byNumber.delete(file);
        for (const holders of open.locks.values())
            holders.delete(file);
        if (--open.users > 0)
            return;
        shut(open);
        if (byName.get(open.name) === open)
            byName.delete(open.name);
    },
};
const codes = {
    NotFoundError: 'NotFound',
    TypeMismatchError: 'IO',
    NoModificationAllowedError: 'Locked',
    QuotaExceededError: 'NoSpace',
    InvalidModificationError: 'Exists',
    NotAllowedError: 'NotAllowed',
    SecurityError: 'NotAllowed',
};
const scope = globalThis;
let queue = Promise.resolve();
scope.onmessage = ({ data: { id, call, args } }) => {
    queue = queue.then(async () => {
        try {
            const value = await files[call](...args);
            scope.postMessage({ id, value }, value instanceof Uint8Array ? [value.buffer] : []);
        }
        catch (error) {
            const code = error instanceof GridholdError ? error.code : (codes[error.name] ?? 'IO');
            const where = typeof args[0] === 'string' ? `${args[0]}: ` : '';
            scope.postMessage({ id, code, text: error instanceof GridholdError ? error.message : `${where}${error.message}` }, []);
        }
    });
};
