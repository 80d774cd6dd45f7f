import { Code, Info, List, PENDING, Range, Read } from './abi.js';
import { openCodec } from './codecs.js';
import { Exchanges, Released, reason } from './exchange.js';
import { Files, Later } from './files.js';
import { GridholdError, IOError, InternalError, InvalidError, LimitError, StaleError, UnsupportedError } from './errors.js';
import { Locks } from './locks.js';
const FAILURES_KEPT = 256;
export class Io {
    #memory;
    #outside;
    #complete;
    #pending = new Map();
    #later = [];
    #codecs = new Map();
    #exchanges;
    files;
    #locks;
    #failures = new Map();
    #encoder = new TextEncoder();
    #thrown = [];
    constructor(memory, outside, complete) {
        this.#memory = memory;
        this.#outside = outside;
        this.#complete = complete;
        this.#exchanges = new Exchanges(memory, outside.fetch);
        this.files = new Files(memory, (id) => outside.systems.get(id));
        this.#locks = new Locks(memory, (id) => outside.systems.get(id));
    }
    imports() {
        return {
            read_ranges: (token, req, info) => this.#now(token, () => this.#readNow(token, req >>> 0, info >>> 0)),
            list: (token, req, info) => this.#ask(token, (p) => this.#list(p, req >>> 0, info >>> 0)),
            fetch: (token, req, _info) => this.#ask(token, (p) => this.#exchanges.make(req >>> 0, p.abort.signal, () => this.#check(p))),
            sleep: (token, ms) => this.#ask(token, (p) => sleep(ms >>> 0, p.abort.signal)),
            codec_open: (token, cfg, len, info) => this.#now(token, () => this.#openCodec(cfg >>> 0, len >>> 0, info >>> 0)),
            codec: (token, id, op, src, srcLen, dst, dstLen) => this.#now(token, () => this.#codec(token, id, op, src >>> 0, srcLen >>> 0, dst >>> 0, dstLen >>> 0)),
            ...this.#fileImports(),
            lock: (token, req, into) => this.#ask(token, (p) => this.#locks.lock(req >>> 0, into >>> 0, p.abort.signal, () => this.#check(p))),
            unlock: (token, id) => this.#now(token, () => this.#locks.unlock(id >>> 0)),
            cancel: (token) => this.#cancel(token),
            tick: () => 0,
            error_detail: (token, ptr, cap) => this.#detail(token, ptr >>> 0, cap >>> 0),
            log: (level, ptr, len) => {
                const text = this.#memory.text(ptr >>> 0, len >>> 0);
                this.#later.push(() => this.#outside.log(level, text));
            },
        };
    }
    #fileImports() {
        const imports = {};
        for (const [name, call] of Object.entries(this.files.imports())) {
            imports[name] = (token, ...args) => this.#now(token, () => {
                const answer = call(...args);
                return answer instanceof Later ? this.#awaited(token, answer) : answer;
            });
        }
        return imports;
    }
    begin() {
        for (const start of this.#later.splice(0))
            start();
    }
    abandon() {
        const out = [...this.#pending.values()];
        this.#pending.clear();
        this.#later.length = 0;
        for (const p of out)
            p.abort.abort();
        this.files.close();
        this.#locks.close();
    }
    causeOf(text) {
        const found = this.#thrown.find((t) => t.text !== '' && text.endsWith(t.text));
        return found?.error;
    }
    #ask(token, work) {
        const p = { token, work, abort: new AbortController() };
        this.#pending.set(token, p);
        this.#later.push(() => void this.#perform(p));
        return PENDING;
    }
    #awaited(token, { value, give }) {
        value.catch(() => { });
        return this.#ask(token, async (p) => {
            const answer = await value;
            this.#check(p);
            return give(answer);
        });
    }
    async #perform(p) {
        if (this.#pending.get(p.token) !== p)
            return;
        let n;
        try {
            n = await p.work(p);
            this.#check(p);
        }
        catch (thrown) {
            if (this.#pending.get(p.token) !== p)
                return;
            n = this.#failed(p.token, thrown);
        }
        this.#pending.delete(p.token);
        this.#complete(p.token, n);
    }
    #now(token, work) {
        try {
            return work();
        }
        catch (thrown) {
            return this.#failed(token, thrown);
        }
    }
    #check(p) {
        if (this.#pending.get(p.token) !== p)
            throw new Released();
    }
    #cancel(token) {
        const p = this.#pending.get(token);
        if (p !== undefined) {
            this.#pending.delete(token);
            this.#later.push(() => p.abort.abort());
        }
        return 0;
    }
    #failed(token, thrown) {
        const error = asGridholdError(thrown);
        this.#failures.delete(token);
        this.#failures.set(token, error);
        if (this.#failures.size > FAILURES_KEPT)
            this.#failures.delete(this.#failures.keys().next().value);
        this.#thrown = [{ text: error.message, error: thrown }, ...this.#thrown.slice(0, 31)];
        return Code[error.code];
    }
    #detail(token, ptr, cap) {
        const error = this.#failures.get(token);
        if (error === undefined)
            return 0;
        this.#failures.delete(token);
        const { format, item, offset = -1 } = error;
        const encode = (text) => new TextEncoder().encode(JSON.stringify({ code: Code[error.code], format, item, off: offset, text }));
        let bytes = encode(error.message);
        if (bytes.length > cap)
            bytes = encode(error.message.slice(0, Math.max(0, (error.message.length - (bytes.length - cap)) >> 1)));
        if (bytes.length > cap)
            return 0;
        this.#memory.bytes(ptr, bytes.length).set(bytes);
        return bytes.length;
    }
    #readNow(token, req, info) {
        const wish = this.#wish(req);
        const answer = wish.store.readNow?.(wish.key, wish.ranges, wish.version);
        if (answer !== undefined)
            return this.#give(wish, answer, info);
        return this.#ask(token, async (p) => {
            const later = await wish.store.read(wish.key, wish.ranges, wish.version, p.abort.signal);
            this.#check(p);
            return later === undefined ? Code.NotFound : this.#give(wish, later, info);
        });
    }
    #wish(req) {
        const v = this.#memory.view();
        const text = (at) => this.#memory.text(v.getUint32(req + at, true), v.getUint32(req + at + 4, true));
        const list = v.getUint32(req + Read.ranges, true);
        const ranges = [];
        for (let i = 0; i < v.getUint32(req + Read.n, true); i++)
            ranges.push(byteRange(v, list + i * Range.size));
        const store = this.#store(v.getUint32(req + Read.store, true));
        return { store, key: text(Read.key), version: text(Read.ver) || undefined, ranges, list };
    }
    #give({ key, ranges, list, version: wanted }, { data, size = -1, version = '' }, info) {
        if (wanted !== undefined && version !== wanted)
            throw new StaleError(`${key}: the object has changed`, { item: key });
        checkAnswer(key, ranges, data);
        const need = this.#tooSmall(list, data);
        const w = this.#memory.view();
        if (need > 0) {
            w.setBigInt64(info + Info.need, BigInt(need), true);
            return Code.TooSmall;
        }
        this.#writeVersion(info, key, version);
        w.setBigInt64(info + Info.size, BigInt(size), true);
        data.forEach((bytes, i) => {
            const range = list + i * Range.size;
            this.#memory.bytes(w.getUint32(range + Range.buf, true), bytes.length).set(bytes);
            w.setInt32(range + Range.n, bytes.length, true);
        });
        return data.length;
    }
    #tooSmall(list, data) {
        const v = this.#memory.view();
        const fits = data.every((bytes, i) => bytes.length <= v.getUint32(list + i * Range.size + Range.cap, true));
        return fits ? 0 : Math.max(...data.map((bytes) => bytes.length));
    }
    #writeVersion(info, key, version) {
        const { read, written } = this.#encoder.encodeInto(version, this.#memory.bytes(info + Info.ver, Info.verCap));
        if (read < version.length) {
            throw new InvalidError(`${key}: the store's version has more than ${Info.verCap} bytes`, { item: key });
        }
        this.#memory.view().setUint32(info + Info.verLen, written, true);
    }
    async #list(p, req, info) {
        const v = this.#memory.view();
        const prefix = this.#memory.text(v.getUint32(req + List.prefix, true), v.getUint32(req + List.prefixLen, true));
        const store = this.#store(v.getUint32(req + List.store, true));
        if (store.list === undefined)
            throw new UnsupportedError('the store cannot list', { item: prefix });
        const names = await store.list(prefix, p.abort.signal);
        this.#check(p);
        const encoded = names.map((name) => new TextEncoder().encode(name));
        const size = encoded.reduce((sum, name) => sum + 4 + name.length, 0);
        const w = this.#memory.view();
        if (size > w.getUint32(req + List.cap, true)) {
            w.setBigInt64(info + Info.need, BigInt(size), true);
            return Code.TooSmall;
        }
        let at = w.getUint32(req + List.buf, true);
        for (const name of encoded) {
            w.setUint32(at, name.length, true);
            this.#memory.bytes(at + 4, name.length).set(name);
            at += 4 + name.length;
        }
        return size;
    }
    #openCodec(cfg, len, info) {
        const { name, configuration } = JSON.parse(this.#memory.text(cfg, len));
        const codec = openCodec(this.#outside.codecs, name, configuration);
        if (codec === undefined)
            return Code.Unsupported;
        const id = this.#codecs.size + 1;
        this.#codecs.set(id, codec);
        const v = this.#memory.view();
        v.setUint32(info + Info.id, id, true);
        v.setUint32(info + Info.minLen, codec.minLength, true);
        return 0;
    }
    #codec(token, id, op, src, srcLen, dst, dstLen) {
        const codec = this.#codecs.get(id);
        if (codec === undefined || op !== 0)
            return Code.Unsupported;
        const put = (bytes) => {
            if (!(bytes instanceof Uint8Array) || bytes.length !== dstLen)
                return Code.Unsupported;
            this.#memory.bytes(dst, dstLen).set(bytes);
            return dstLen;
        };
        let decoded;
        try {
            decoded = codec.decode(this.#memory.bytes(src, srcLen).slice(), dstLen);
        }
        catch {
            return Code.Unsupported;
        }
        if (decoded instanceof Uint8Array)
            return put(decoded);
        const settled = Promise.resolve(decoded).catch(() => undefined);
        return this.#ask(token, async (p) => {
            const bytes = await settled;
            this.#check(p);
            return bytes === undefined ? Code.Unsupported : put(bytes);
        });
    }
    #store(id) {
        const store = this.#outside.stores.get(id);
        if (store === undefined)
            throw new InternalError(`there is no store ${id}`);
        return store;
    }
}
function byteRange(v, at) {
    const off = v.getBigInt64(at + Range.off, true);
    const len = v.getBigInt64(at + Range.len, true);
    if (off + len > Number.MAX_SAFE_INTEGER || off > Number.MAX_SAFE_INTEGER || len > Number.MAX_SAFE_INTEGER) {
        throw new LimitError(`a range at ${off} of ${len} bytes lies beyond 2^53`);
    }
    if (off < 0n)
        return { suffix: Number(len) };
    return len < 0n ? { offset: Number(off) } : { offset: Number(off), length: Number(len) };
}
function checkAnswer(key, ranges, data) {
    const right = Array.isArray(data) &&
        data.length === ranges.length &&
        data.every((bytes, i) => {
            const range = ranges[i];
            const most = 'suffix' in range ? range.suffix : range.length;
            return bytes instanceof Uint8Array && bytes.length <= (most ?? Infinity);
        });
    if (!right)
        throw new IOError(`${key}: the store did not answer the ranges it was asked for`, { item: key });
}
function sleep(ms, signal) {
    return new Promise((resolve) => {
        const timer = setTimeout(() => resolve(0), ms);
        signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
    });
}
function asGridholdError(thrown) {
    if (thrown instanceof GridholdError)
        return thrown;
    const code = thrown?.name === 'AbortError' ? 'Cancelled' : 'IO';
    return new GridholdError(code, reason(thrown), { cause: thrown });
}
