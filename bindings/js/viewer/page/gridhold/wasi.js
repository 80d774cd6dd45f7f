const ESUCCESS = 0;
const EBADF = 8;
const ENOSYS = 52;
const CLOCK_REALTIME = 0;
const LAST_WORDS = 65536;
const RANDOM_AT_ONCE = 65536;
export class Exit extends Error {
    status;
    constructor(status) {
        super(`the guest left with status ${status}`);
        this.status = status;
    }
}
export class Wasi {
    #memory;
    #words = '';
    constructor(memory) {
        this.#memory = memory;
    }
    get lastWords() {
        return this.#words;
    }
    imports(module) {
        const have = this.#functions();
        const out = {};
        for (const { module: from, name } of WebAssembly.Module.imports(module)) {
            if (from === 'wasi_snapshot_preview1')
                out[name] = have[name] ?? (() => ENOSYS);
        }
        return out;
    }
    #functions() {
        const view = () => this.#memory.view();
        const none = (count, size) => {
            const v = view();
            v.setUint32(count >>> 0, 0, true);
            v.setUint32(size >>> 0, 0, true);
            return ESUCCESS;
        };
        return {
            args_sizes_get: none,
            environ_sizes_get: none,
            args_get: () => ESUCCESS,
            environ_get: () => ESUCCESS,
            sched_yield: () => ESUCCESS,
            fd_prestat_get: () => EBADF,
            fd_fdstat_get: () => EBADF,
            fd_close: () => EBADF,
            clock_time_get: (id, _precision, out) => {
                const ns = Math.round((id === CLOCK_REALTIME ? Date.now() : performance.now()) * 1e6);
                const v = view();
                v.setUint32(out >>> 0, ns % 2 ** 32, true);
                v.setUint32((out >>> 0) + 4, Math.floor(ns / 2 ** 32), true);
                return ESUCCESS;
            },
            random_get: (ptr, len) => {
                const out = this.#memory.bytes(ptr >>> 0, len >>> 0);
                for (let at = 0; at < out.length; at += RANDOM_AT_ONCE) {
                    crypto.getRandomValues(out.subarray(at, at + RANDOM_AT_ONCE));
                }
                return ESUCCESS;
            },
            fd_write: (fd, vectors, count, out) => {
                if (fd !== 1 && fd !== 2)
                    return EBADF;
                const v = view();
                let n = 0;
                for (let i = 0; i < count; i++) {
                    const at = (vectors >>> 0) + 8 * i;
                    const bytes = this.#memory.bytes(v.getUint32(at, true), v.getUint32(at + 4, true));
                    this.#words = (this.#words + new TextDecoder().decode(bytes)).slice(-LAST_WORDS);
                    n += bytes.length;
                }
                v.setUint32(out >>> 0, n, true);
                return ESUCCESS;
            },
            poll_oneoff: (subscriptions, events, count, out) => {
                const v = view();
                for (let i = 0; i < count; i++) {
                    const from = (subscriptions >>> 0) + 48 * i;
                    const to = (events >>> 0) + 32 * i;
                    v.setBigUint64(to, v.getBigUint64(from, true), true);
                    v.setUint16(to + 8, ESUCCESS, true);
                    v.setUint8(to + 10, v.getUint8(from + 8));
                }
                v.setUint32(out >>> 0, count, true);
                return ESUCCESS;
            },
            proc_exit: (status) => {
                throw new Exit(status);
            },
        };
    }
}
