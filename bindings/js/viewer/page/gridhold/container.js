import { ContainerRead, ContainerWrite, Kind } from './abi.js';
import { ClosedError, StaleError } from './errors.js';
import { Handle } from './handle.js';
import { decode, encode } from './msgpack.js';
import { pathOf, platform } from './platform.js';
export function fileOf(source) {
    if (typeof source === 'object' && source !== null && 'files' in source)
        return source;
    const path = pathOf(source);
    return path === undefined ? undefined : platform.file(path);
}
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
    on(guest) {
        return this.#handle.on(guest);
    }
    async read(what, numbers, { signal } = {}, name = '') {
        const guest = await this.gridhold.guest();
        const request = packed(await this.on(guest), what, numbers, new TextEncoder().encode(name));
        return (await guest.run(Kind.containerRead, request, signal)).bytes;
    }
    async write(what, numbers, data, { signal } = {}) {
        const guest = await this.gridhold.guest();
        const request = packed(await this.on(guest), what, numbers, data);
        this.state = parsed((await guest.run(Kind.containerWrite, request, signal)).bytes);
    }
    async do(deed, { signal } = {}) {
        const guest = await this.gridhold.guest();
        const request = json({ container: await this.on(guest), ...deed });
        return parsed((await guest.run(Kind.containerDo, request, signal)).bytes);
    }
    leaf(key, vlmeta = false, { signal } = {}) {
        return Core.open(this.gridhold, key, async (guest) => ({ kind: Kind.containerOpen, request: json({ container: await this.on(guest), key, vlmeta }) }), () => { }, signal);
    }
    async change(deed, options) {
        this.state = (await this.do(deed, options));
    }
    hold(shared, options) {
        return this.made({ do: 'hold', shared }, options);
    }
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
    keep(other) {
        this.#below = other;
    }
    #below;
    async close() {
        if (this.#handle.closed)
            return;
        await this.#handle.closeNow();
        await this.#below?.close();
    }
}
export class Container {
    core;
    constructor(core) {
        this.core = core;
    }
    get kind() {
        return this.core.state.kind;
    }
    get vlmeta() {
        return new VLMeta(this.core);
    }
    info(options) {
        return this.core.do({ do: 'describe' }, options);
    }
    async meta(name, options) {
        return decode(await this.core.read(ContainerRead.metalayer, [], options, name));
    }
    async refresh(options) {
        const before = await this.changeTick(options);
        await this.core.change({ do: 'refresh' }, options);
        return this.core.state.tick !== before;
    }
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
    async snapshot(options) {
        return this.like(await this.core.made({ do: 'snapshot' }, options));
    }
    like(core) {
        return new this.constructor(core);
    }
    async changeTick(options) {
        return (await this.core.do({ do: 'state' }, options)).tick;
    }
    holdingLock(use, options) {
        return this.#holding(false, use, options);
    }
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
            await held.close().catch(() => { });
            throw error;
        }
        await held.close();
        return result;
    }
    verify(options) {
        return this.core.do({ do: 'verify' }, options);
    }
    close() {
        return this.core.close();
    }
    [Symbol.asyncDispose]() {
        return this.close();
    }
}
export class VLMeta {
    #core;
    constructor(core) {
        this.#core = core;
    }
    async keys(options) {
        return (await this.#core.do({ do: 'state' }, options)).vlmeta;
    }
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
    delete(name, options) {
        return this.#core.write(ContainerWrite.dropVlmeta, [], new TextEncoder().encode(name), options);
    }
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
