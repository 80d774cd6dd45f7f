// A Blosc2 container that is open, whatever its kind: what frames and stores
// have in common.
import { ContainerRead, ContainerWrite, Kind } from './abi.js';
import { ClosedError, StaleError } from './errors.js';
import { Handle } from './handle.js';
import { decode, encode } from './msgpack.js';
import { pathOf, platform } from './platform.js';
/** @internal The file that a source is: in Node, a path too. */
export function fileOf(source) {
    if (typeof source === 'object' && source !== null && 'files' in source)
        return source;
    const path = pathOf(source);
    return path === undefined ? undefined : platform.file(path);
}
/** The part that every kind wraps: a handle, and calls on it. */
export class Core {
    gridhold;
    name;
    state;
    #handle;
    constructor(gridhold, name, opening, release, signal) {
        this.gridhold = gridhold;
        this.name = name;
        const kept = {};
        this.#handle = new Handle(name, async (guest) => {
            const { kind, request } = await opening(guest);
            const reply = await guest.run(kind, request, kept.state === undefined ? signal : undefined);
            const state = parsed(reply.bytes);
            kept.state ??= state;
            if (state.kind !== kept.state.kind)
                throw new StaleError(`${name}: it is a ${state.kind} by now`, { item: name });
            kept.state = state;
            return reply.object;
        }, release);
        this.#kept = kept;
    }
    #kept;
    /** Opens it for the first time, which the signal ends. */
    static async open(gridhold, name, opening, release, signal) {
        const core = new Core(gridhold, name, opening, release, signal);
        try {
            await core.#handle.on(await gridhold.guest());
            core.state = core.#kept.state;
            core.#handle.ownedBy(core);
            return core;
        }
        catch (error) {
            core.#handle.close();
            throw error;
        }
    }
    /** Its number on an instance. */
    on(guest) {
        return this.#handle.on(guest);
    }
    /** `container_read`. */
    async read(what, numbers, { signal } = {}, name = '') {
        const guest = await this.gridhold.guest();
        const request = packed(await this.on(guest), what, numbers, new TextEncoder().encode(name));
        return (await guest.run(Kind.containerRead, request, signal)).bytes;
    }
    /** `container_write`: one commit. */
    async write(what, numbers, data, { signal } = {}) {
        const guest = await this.gridhold.guest();
        const request = packed(await this.on(guest), what, numbers, data);
        this.state = parsed((await guest.run(Kind.containerWrite, request, signal)).bytes);
    }
    /** `container_do`. */
    async do(deed, { signal } = {}) {
        const guest = await this.gridhold.guest();
        const request = json({ container: await this.on(guest), ...deed });
        return parsed((await guest.run(Kind.containerDo, request, signal)).bytes);
    }
    /** What lies in it. */
    leaf(key, vlmeta = false, { signal } = {}) {
        return Core.open(this.gridhold, key, async (guest) => ({ kind: Kind.containerOpen, request: json({ container: await this.on(guest), key, vlmeta }) }), () => { }, signal);
    }
    /** `container_do` that changes the container. */
    async change(deed, options) {
        this.state = (await this.do(deed, options));
    }
    /** It, under its lock, until that is closed. */
    hold(shared, options) {
        return this.made({ do: 'hold', shared }, options);
    }
    /** What a deed makes of it, which ends with the guest that made it. */
    made(deed, { signal } = {}, name = this.name, release = () => { }, again) {
        let once = false;
        return Core.open(this.gridhold, name, async (guest) => {
            if (!once) {
                once = true;
                return { kind: Kind.containerDo, request: json({ container: await this.on(guest), ...deed }) };
            }
            if (again === undefined)
                throw new ClosedError(`${name}: it ended with the guest that had it`);
            return { kind: Kind.containerOpen, request: json(again) };
        }, release, signal);
    }
    /** Closes another one with it: what it was opened in. */
    keep(other) {
        this.#below = other;
    }
    #below;
    /** Waits until it is closed. */
    async close() {
        if (this.#handle.closed)
            return;
        await this.#handle.closeNow();
        await this.#below?.close();
    }
}
/** What every kind of container can do. */
export class Container {
    /** @internal */
    core;
    /** @internal */
    constructor(core) {
        this.core = core;
    }
    /** `ndarray`, `schunk`, `treestore`, … */
    get kind() {
        return this.core.state.kind;
    }
    /** Variable-length metalayers. */
    get vlmeta() {
        return new VLMeta(this.core);
    }
    /** The whole description, as `gridhold info --json` prints it. */
    info(options) {
        return this.core.do({ do: 'describe' }, options);
    }
    /** A metalayer that keeps its length. Rejects with NotFoundError. */
    async meta(name, options) {
        return decode(await this.core.read(ContainerRead.metalayer, [], options, name));
    }
    /** Takes over what was changed elsewhere, and says whether anything was. */
    async refresh(options) {
        const before = await this.changeTick(options);
        await this.core.change({ do: 'refresh' }, options);
        return this.core.state.tick !== before;
    }
    /**
     * Gives `changeTick`, now and after each change that it takes over: it looks every `interval` milliseconds, and ends with
     * the signal, whose reason it rejects with, or when the loop over it is left.
     */
    async *watch({ interval = 20, signal } = {}) {
        let tick = await this.changeTick({ signal });
        yield tick;
        for (;;) {
            await pause(interval, signal);
            if (!(await this.refresh({ signal })) && this.core.state.tick === tick)
                continue;
            tick = this.core.state.tick;
            yield tick;
        }
    }
    /** What it is now, to be read and then closed, whatever is written meanwhile. Not of a store that is many files. */
    async snapshot(options) {
        return this.like(await this.core.made({ do: 'snapshot' }, options));
    }
    /** @internal Another one of its class. */
    like(core) {
        return new this.constructor(core);
    }
    /** Counts the changes that were taken over since it was opened. */
    async changeTick(options) {
        return (await this.core.do({ do: 'state' }, options)).tick;
    }
    /**
     * Calls `use` with the container under its lock, which nobody else who locks has meanwhile: what it is by then, and as
     * it stays. `held` ends with the call; the container itself would wait for that. Several calls of `held` are seen as one.
     */
    holdingLock(use, options) {
        return this.#holding(false, use, options);
    }
    /** As `holdingLock`, to read: others may read too. */
    holdingSharedLock(use, options) {
        return this.#holding(true, use, options);
    }
    async #holding(shared, use, options) {
        const held = this.like(await this.core.hold(shared, options));
        let result;
        try {
            result = await use(held);
        }
        catch (error) {
            await held.close().catch(() => { }); // the first failure is the one to tell of
            throw error;
        }
        await held.close();
        return result;
    }
    /** Decodes everything and says what is damaged. */
    verify(options) {
        return this.core.do({ do: 'verify' }, options);
    }
    /** Rejects with what kept the writes from being safe. Twice is fine. */
    close() {
        return this.core.close();
    }
    [Symbol.asyncDispose]() {
        return this.close();
    }
}
/** Variable-length metalayers: what MessagePack has a form of, by name. */
export class VLMeta {
    #core;
    /** @internal */
    constructor(core) {
        this.#core = core;
    }
    async keys(options) {
        return (await this.#core.do({ do: 'state' }, options)).vlmeta;
    }
    /** Rejects with NotFoundError. */
    async get(name, options) {
        return decode(await this.#core.read(ContainerRead.vlmeta, [], options, name));
    }
    async set(name, value, options) {
        const [key, raw] = [new TextEncoder().encode(name), encode(value)];
        const data = new Uint8Array(key.length + raw.length);
        data.set(key);
        data.set(raw, key.length);
        await this.#core.write(ContainerWrite.vlmeta, [key.length], data, options);
    }
    /** Rejects with NotFoundError. */
    delete(name, options) {
        return this.#core.write(ContainerWrite.dropVlmeta, [], new TextEncoder().encode(name), options);
    }
    /** All of them. */
    async entries(options) {
        const found = [];
        for (const name of await this.keys(options))
            found.push([name, await this.get(name, options)]);
        return found;
    }
}
function pause(ms, signal) {
    return new Promise((resolve, reject) => {
        if (signal?.aborted)
            return reject(signal.reason);
        const leave = () => {
            clearTimeout(timer);
            reject(signal.reason);
        };
        const timer = setTimeout(() => {
            signal?.removeEventListener('abort', leave);
            resolve();
        }, ms);
        signal?.addEventListener('abort', leave, { once: true });
    });
}
/** A request of `container_read` or `container_write`. */
function packed(handle, what, numbers, rest) {
    const request = new Uint8Array(12 + 8 * numbers.length + rest.length);
    const v = new DataView(request.buffer);
    [handle, what, numbers.length].forEach((word, i) => v.setUint32(4 * i, word, true));
    numbers.forEach((n, i) => v.setBigInt64(12 + 8 * i, BigInt(n), true));
    request.set(rest, 12 + 8 * numbers.length);
    return request;
}
export function json(value) {
    return new TextEncoder().encode(JSON.stringify(value));
}
function parsed(bytes) {
    return JSON.parse(new TextDecoder().decode(bytes));
}
