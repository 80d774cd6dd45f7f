import { blobName, blobStore } from './blob-store.js';
import { InvalidError, UnsupportedError } from './errors.js';
export class HttpStore {
    url;
    options;
    constructor(url, options) {
        this.url = url;
        this.options = options;
    }
}
export function httpStore(url, options = {}) {
    const base = globalThis.location?.href;
    let parsed;
    try {
        parsed = new URL(url, base);
    }
    catch (cause) {
        throw new InvalidError(`not a URL: ${url}`, { item: String(url), cause });
    }
    if (parsed.protocol !== 'http:' && parsed.protocol !== 'https:') {
        throw new UnsupportedError(`${parsed.protocol} URLs have no store here; for files see @gridhold/gridhold/node`, {
            item: String(url),
        });
    }
    return new HttpStore(parsed.href, { ...options });
}
export class ZipStore {
    store;
    key;
    constructor(store, key) {
        this.store = store;
        this.key = key;
        if (store instanceof ZipStore)
            throw new UnsupportedError('an archive within an archive', { item: key });
    }
}
export function zipStore(where, more) {
    if (where instanceof Blob)
        return storeOf(where);
    if (typeof more === 'string')
        return new ZipStore(storeOf(where), more);
    const { store, key } = objectAt(where, more);
    return new ZipStore(store, key);
}
export function objectIn(source, path) {
    if (path !== undefined && path !== '')
        return { store: source, key: path };
    if (source instanceof Blob)
        return { store: blobStore(source), key: blobName(source) };
    if (typeof source === 'string' && source.startsWith(ZIP))
        throw new InvalidError('what lies in an archive has a path there', { item: source });
    if (typeof source === 'string' || source instanceof URL)
        return objectAt(source);
    throw new InvalidError('what lies in a store has a path there');
}
export function objectAt(where, options) {
    const url = new URL(httpStore(where).url);
    const cut = url.pathname.lastIndexOf('/') + 1;
    const key = decodeURIComponent(url.pathname.slice(cut));
    if (key === '')
        throw new InvalidError(`names no object: ${where}`, { item: String(where) });
    url.pathname = url.pathname.slice(0, cut);
    return { store: httpStore(url, options), key };
}
const ZIP = 'zip://';
export function storeOf(source) {
    if (source instanceof HttpStore || source instanceof ZipStore)
        return source;
    if (source instanceof Blob)
        return new ZipStore(blobStore(source), blobName(source));
    if (typeof source === 'string' && source.startsWith(ZIP))
        return zipStore(source.slice(ZIP.length));
    if (typeof source === 'string' || source instanceof URL)
        return httpStore(source);
    if (typeof source?.read === 'function')
        return source;
    throw new InvalidError('a URL or an object with a read method is wanted');
}
export class StoreTable {
    #byId = new Map();
    #ids = new Map();
    #next = 1;
    acquire(store) {
        let id = this.#ids.get(store);
        if (id === undefined) {
            id = this.#next++;
            this.#ids.set(store, id);
            this.#byId.set(id, { store, users: 0 });
        }
        this.#byId.get(id).users++;
        return id;
    }
    release(id) {
        const entry = this.#byId.get(id);
        if (entry === undefined || --entry.users > 0)
            return;
        this.#byId.delete(id);
        this.#ids.delete(entry.store);
    }
    get(id) {
        return this.#byId.get(id)?.store;
    }
}
