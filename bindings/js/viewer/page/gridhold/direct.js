import { Kind } from './abi.js';
import { openCodec } from './codecs.js';
import { pageOrigin } from './page-fetch.js';
import { packed } from './request.js';
const plain = /^(u?int(8|16|32|64)|float(16|32|64)|complex(64|128))$/;
const PARALLEL = 32;
const KEPT = 64 << 20;
const LARGEST = 64 << 20;
const NONE = 2n ** 64n - 1n;
export class DirectReads {
    #info;
    #handle;
    #store;
    #fetch;
    #codec;
    #perShard;
    #size;
    #tables = new WeakMap();
    #busy = 0;
    constructor(info, handle, store, fetch, codec) {
        this.#info = info;
        this.#handle = handle;
        this.#store = store;
        this.#fetch = fetch;
        this.#codec = codec;
        const sub = info.effective_subchunk_shape;
        this.#perShard = info.chunk_shape.map((length, axis) => length / sub[axis]);
        this.#size = sub.reduce((n, length) => n * length, info.item_size);
    }
    static of(info, handle, store, fetch, codecs) {
        const { host_readable: readable, order_transposed: transposed, chunk_shape: chunk, effective_subchunk_shape: sub } = info;
        if (!readable || transposed || chunk === null || sub === null || !plain.test(info.data_type) || store.options.parallel !== undefined)
            return undefined;
        if (sub.reduce((n, length) => n * length, info.item_size) > LARGEST)
            return undefined;
        const [first, second, ...others] = info.subchunk_codecs;
        if (first?.name !== 'bytes' || others.length > 0)
            return undefined;
        if (info.item_size > 1 && first.configuration?.endian !== 'little')
            return undefined;
        if (second === undefined)
            return new DirectReads(info, handle, store, fetch, undefined);
        try {
            const codec = openCodec(codecs, second.name, second.configuration);
            return codec && new DirectReads(info, handle, store, fetch, codec);
        }
        catch {
            return undefined;
        }
    }
    async read(index, cache, guest, signal) {
        const grid = this.#info.subchunk_grid_shape;
        if (this.#busy >= PARALLEL || index.length !== grid.length || !index.every((at, axis) => at >= 0 && at < grid[axis]))
            return undefined;
        this.#busy++;
        try {
            const shard = index.map((at, axis) => Math.floor(at / this.#perShard[axis]));
            const table = this.#known(cache, shard) ?? (await this.#load(cache, shard, guest, signal));
            if (table === undefined)
                return undefined;
            const at = 2 * index.reduce((n, i, axis) => n * this.#perShard[axis] + (i % this.#perShard[axis]), 0);
            const [offset, length] = [table.entries[at], table.entries[at + 1]];
            if (offset === undefined || length === undefined || offset === NONE || length === 0n || length > LARGEST || offset + length > BigInt(table.size))
                return undefined;
            const encoded = await this.#fetched(table, Number(offset), Number(length), signal);
            return encoded && (await this.#decoded(encoded));
        }
        finally {
            this.#busy--;
        }
    }
    #known(cache, shard) {
        const tables = this.#tables.get(cache);
        if (tables?.drops !== cache.drops)
            return undefined;
        const table = tables.byShard.get(shard.join());
        if (table !== undefined)
            cache.hits++;
        return table;
    }
    async #load(cache, shard, guest, signal) {
        const { drops } = cache;
        const request = packed([await this.#handle.on(guest), await cache.handle.on(guest), 0, shard.length], shard);
        const table = this.#table((await guest.run(Kind.shardTable, request, signal)).bytes);
        if (table === undefined || drops !== cache.drops)
            return undefined;
        let tables = this.#tables.get(cache);
        if (tables?.drops !== drops || tables.bytes + table.entries.byteLength > KEPT) {
            tables = { drops, bytes: 0, byShard: new Map() };
            this.#tables.set(cache, tables);
        }
        tables.bytes += table.entries.byteLength;
        tables.byShard.set(shard.join(), table);
        return table;
    }
    #table(bytes) {
        const v = new DataView(bytes.buffer);
        const [count, flags, keyLength, versionLength] = [0, 4, 8, 12].map((at) => v.getUint32(at, true));
        const text = (from, length) => new TextDecoder().decode(bytes.subarray(from, from + length));
        const [key, version, size] = [text(24, keyLength), text(24 + keyLength, versionLength), Number(v.getBigInt64(16, true))];
        if ((flags & 1) !== 0 || !version.startsWith('"') || size < 0)
            return undefined;
        const entries = new BigUint64Array(bytes.buffer, Math.ceil((24 + keyLength + versionLength) / 8) * 8, 2 * count);
        const url = new URL(this.#store.url);
        url.hash = '';
        url.pathname = `${url.pathname.replace(/\/+$/, '')}/${key.split('/').map(encodeURIComponent).join('/')}`;
        return { url: url.href, version, size, entries };
    }
    async #fetched({ url, version, size }, offset, length, signal) {
        const fetch = this.#fetch;
        const end = offset + length - 1;
        try {
            const response = await fetch(url, {
                headers: { range: `bytes=${offset}-${end}` },
                ...(signal && { signal }),
                ...(pageOrigin() !== undefined && { cache: 'no-store' }),
            });
            const { headers } = response;
            const right = response.status === 206 &&
                headers.get('etag') === version &&
                headers.get('content-range') === `bytes ${offset}-${end}/${size}` &&
                !headers.has('content-encoding') &&
                (headers.get('content-length') ?? String(length)) === String(length);
            if (!right) {
                response.body?.cancel().catch(() => { });
                return undefined;
            }
            const bytes = new Uint8Array(await response.arrayBuffer());
            return bytes.length === length ? bytes : undefined;
        }
        catch {
            signal?.throwIfAborted();
            return undefined;
        }
    }
    async #decoded(encoded) {
        let decoded = encoded;
        if (this.#codec !== undefined) {
            try {
                const made = this.#codec.decode(encoded, this.#size);
                decoded = made instanceof Uint8Array ? made : await made;
            }
            catch {
                return undefined;
            }
        }
        if (!(decoded instanceof Uint8Array) || decoded.length !== this.#size)
            return undefined;
        const own = decoded.byteOffset === 0 && decoded.buffer.byteLength === decoded.length && decoded.buffer instanceof ArrayBuffer;
        return own ? decoded : new Uint8Array(decoded);
    }
}
