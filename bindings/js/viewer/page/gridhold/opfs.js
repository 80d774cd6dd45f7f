import { Code } from './abi.js';
import { UnsupportedError, errorOf } from './errors.js';
export function originPrivate(name) {
    if (typeof Worker === 'undefined' || globalThis.navigator?.storage?.getDirectory === undefined) {
        throw new UnsupportedError('there is no origin-private file system here', { item: name });
    }
    return { files: (shared ??= new PrivateFileSystem()), name };
}
let shared;
class PrivateFileSystem {
    #worker = new Worker(new URL('./opfs-worker.js', import.meta.url), { type: 'module' });
    #waiting = new Map();
    #last = 0;
    constructor() {
        this.#worker.onmessage = ({ data }) => {
            const waiting = this.#waiting.get(data.id);
            this.#waiting.delete(data.id);
            if ('value' in data)
                waiting?.resolve(data.value);
            else
                waiting?.reject(errorOf(Code[data.code], data.text));
        };
        this.#worker.onerror = (event) => {
            for (const { reject } of this.#waiting.values())
                reject(new UnsupportedError(`the worker of private files: ${event.message}`));
            this.#waiting.clear();
        };
    }
    ask(call, ...args) {
        return new Promise((resolve, reject) => {
            const id = ++this.#last;
            this.#waiting.set(id, { resolve, reject });
            this.#worker.postMessage({ id, call, args });
        });
    }
    async open(name, flags) {
        return new PrivateFile(this, await this.ask('open', name, flags));
    }
    async stat(name) {
        return statOf(await this.ask('stat', name));
    }
    rename(from, to, replace) {
        return this.ask('rename', from, to, replace);
    }
    remove(name) {
        return this.ask('remove', name);
    }
    mkdir(name) {
        return this.ask('mkdir', name);
    }
    names(name) {
        return this.ask('names', name);
    }
    syncDir() { }
    free() {
        return this.ask('free');
    }
}
class PrivateFile {
    #system;
    #file;
    constructor(system, file) {
        this.#system = system;
        this.#file = file;
    }
    readAt(into, off) {
        return this.#system.ask('readAt', this.#file, into.length, off);
    }
    writeAt(bytes, off) {
        return this.#system.ask('writeAt', this.#file, bytes.slice(), off);
    }
    truncate(size) {
        return this.#system.ask('truncate', this.#file, size);
    }
    sync() {
        return this.#system.ask('sync', this.#file);
    }
    async stat() {
        return statOf(await this.#system.ask('statFile', this.#file));
    }
    lockRange(off, mode) {
        return this.#system.ask('lockRange', this.#file, off, mode);
    }
    close() {
        return this.#system.ask('close', this.#file);
    }
}
function statOf({ size, mtime, ino, links, directory }) {
    const mtimeNs = BigInt(Math.round(mtime)) * 1000000n;
    return { size: BigInt(size), mtimeNs, ctimeNs: mtimeNs, allocated: 0n, dev: 1n, ino: BigInt(ino), links: BigInt(links), directory };
}
