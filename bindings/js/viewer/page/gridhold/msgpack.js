import { CorruptError, InvalidError, UnsupportedError } from './errors.js';
const DEEPEST = 64;
export class Extension {
    type;
    data;
    constructor(type, data) {
        this.type = type;
        this.data = data;
    }
}
export function decode(bytes) {
    const reader = new Reader(bytes);
    const value = reader.value(0);
    if (reader.at !== bytes.length)
        throw reader.corrupt('more than one value');
    return value;
}
class Reader {
    at = 0;
    #bytes;
    #view;
    constructor(bytes) {
        this.#bytes = bytes;
        this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    }
    corrupt(why) {
        return new CorruptError(`msgpack at ${this.at}: ${why}`, { offset: this.at });
    }
    #skip(n) {
        if (n > this.#bytes.length - this.at)
            throw this.corrupt('ends early');
        this.at += n;
        return this.at - n;
    }
    #take(n) {
        const from = this.#skip(n);
        return this.#bytes.slice(from, from + n);
    }
    #text(n) {
        try {
            return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(this.#take(n));
        }
        catch (error) {
            if (error instanceof CorruptError)
                throw error;
            throw this.corrupt('a text that is not UTF-8');
        }
    }
    #length(size) {
        const at = this.#skip(size);
        return size === 1 ? this.#view.getUint8(at) : size === 2 ? this.#view.getUint16(at) : this.#view.getUint32(at);
    }
    value(depth) {
        if (depth > DEEPEST)
            throw this.corrupt('too deep');
        const lead = this.#length(1);
        if (lead < 0x80)
            return lead;
        if (lead >= 0xe0)
            return lead - 256;
        if (lead < 0x90)
            return this.#map(lead & 15, depth);
        if (lead < 0xa0)
            return this.#list(lead & 15, depth);
        if (lead < 0xc0)
            return this.#text(lead & 31);
        const v = this.#view;
        switch (lead) {
            case 0xc0: return null;
            case 0xc2: return false;
            case 0xc3: return true;
            case 0xc4:
            case 0xc5:
            case 0xc6: return this.#take(this.#length(1 << (lead - 0xc4)));
            case 0xc7:
            case 0xc8:
            case 0xc9: return this.#extension(this.#length(1 << (lead - 0xc7)));
            case 0xca: return v.getFloat32(this.#skip(4));
            case 0xcb: return v.getFloat64(this.#skip(8));
            case 0xcc:
            case 0xcd:
            case 0xce: return this.#length(1 << (lead - 0xcc));
            case 0xcf: return small(v.getBigUint64(this.#skip(8)));
            case 0xd0: return v.getInt8(this.#skip(1));
            case 0xd1: return v.getInt16(this.#skip(2));
            case 0xd2: return v.getInt32(this.#skip(4));
            case 0xd3: return small(v.getBigInt64(this.#skip(8)));
            case 0xd4:
            case 0xd5:
            case 0xd6:
            case 0xd7:
            case 0xd8: return this.#extension(1 << (lead - 0xd4));
            case 0xd9:
            case 0xda:
            case 0xdb: return this.#text(this.#length(1 << (lead - 0xd9)));
            case 0xdc:
            case 0xdd: return this.#list(this.#length(2 << (lead - 0xdc)), depth);
            case 0xde:
            case 0xdf: return this.#map(this.#length(2 << (lead - 0xde)), depth);
        }
        throw this.corrupt('0xc1 is no value');
    }
    #extension(n) {
        const type = this.#view.getInt8(this.#skip(1));
        return new Extension(type, this.#take(n));
    }
    #list(n, depth) {
        const list = [];
        while (list.length < n)
            list.push(this.value(depth + 1));
        return list;
    }
    #map(n, depth) {
        const map = new Map();
        for (let i = 0; i < n; i++) {
            const key = this.value(depth + 1);
            map.set(key, this.value(depth + 1));
        }
        const named = [...map.keys()].every((key) => typeof key === 'string' && key !== '__proto__');
        return named ? Object.fromEntries(map) : map;
    }
}
function small(n) {
    return Number.isSafeInteger(Number(n)) ? Number(n) : n;
}
export function encode(value) {
    const out = [];
    append(out, value, 0);
    return Uint8Array.from(out);
}
function append(out, value, depth) {
    if (depth > DEEPEST)
        throw new InvalidError('msgpack: nested too deep');
    if (value === null || value === undefined)
        out.push(0xc0);
    else if (typeof value === 'boolean')
        out.push(value ? 0xc3 : 0xc2);
    else if (typeof value === 'bigint' || (typeof value === 'number' && Number.isSafeInteger(value)))
        integer(out, BigInt(value));
    else if (typeof value === 'number')
        out.push(0xcb, ...word(8, (v) => v.setFloat64(0, value)));
    else if (typeof value === 'string') {
        const bytes = new TextEncoder().encode(value);
        head(out, bytes.length, 0xa0, 32, [0xd9, 0xda, 0xdb]);
        add(out, bytes);
    }
    else if (value instanceof Extension) {
        head(out, value.data.length, 0, 0, [0xc7, 0xc8, 0xc9]);
        out.push(value.type & 255);
        add(out, value.data);
    }
    else if (ArrayBuffer.isView(value)) {
        const bytes = new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
        head(out, bytes.length, 0, 0, [0xc4, 0xc5, 0xc6]);
        add(out, bytes);
    }
    else if (Array.isArray(value)) {
        head(out, value.length, 0x90, 16, [undefined, 0xdc, 0xdd]);
        for (const item of value)
            append(out, item, depth + 1);
    }
    else if (value instanceof Map || Object.getPrototypeOf(value) === Object.prototype) {
        const entries = value instanceof Map ? [...value] : Object.entries(value);
        head(out, entries.length, 0x80, 16, [undefined, 0xde, 0xdf]);
        for (const [key, item] of entries) {
            append(out, key, depth + 1);
            append(out, item, depth + 1);
        }
    }
    else
        throw new UnsupportedError(`msgpack: no form for ${String(value)}`);
}
function add(out, bytes) {
    for (const byte of bytes)
        out.push(byte);
}
function word(size, set) {
    const bytes = new Uint8Array(size);
    set(new DataView(bytes.buffer));
    return bytes;
}
function integer(out, n) {
    if (n >= -32n && n < 128n)
        return void out.push(Number(n) & 255);
    for (const [i, size] of [1, 2, 4, 8].entries()) {
        const bits = BigInt(8 * size);
        const fits = n >= 0n ? n < 1n << bits : n >= -(1n << (bits - 1n));
        if (!fits)
            continue;
        out.push((n >= 0n ? 0xcc : 0xd0) + i, ...word(8, (v) => v.setBigInt64(0, BigInt.asIntN(64, n))).subarray(8 - size));
        return;
    }
    throw new InvalidError(`msgpack: ${n} has more than 64 bits`);
}
function head(out, n, short, below, leads) {
    if (n < below)
        return void out.push(short | n);
    for (const [i, size] of [1, 2, 4].entries()) {
        const lead = leads[i];
        if (lead === undefined || n >= 2 ** (8 * size))
            continue;
        out.push(lead, ...word(4, (v) => v.setUint32(0, n)).subarray(4 - size));
        return;
    }
    throw new InvalidError('msgpack: too long');
}
