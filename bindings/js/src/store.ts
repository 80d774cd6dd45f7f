// Where bytes come from.

import { blobName, blobStore } from './blob-store.js';
import { InvalidError, UnsupportedError } from './errors.js';

/**
 * Bytes of an object, in the manner of `slice`: `length` of them from
 * `offset`, or all from there; or the last `suffix` of them.
 */
export type ByteRange = { offset: number; length?: number } | { suffix: number };

/** What a store read. */
export interface ReadAnswer {
  /** The bytes of each range, in order, all of one version. A range past the object's end is answered short. */
  data: Uint8Array[];
  /** Of the whole object, in bytes, where the store knows it. */
  size?: number | undefined;
  /**
   * Names this state of the object's bytes; only equality means anything. At
   * most 128 bytes as UTF-8. A store without versions leaves it out, and then
   * a rewritten object is not noticed.
   */
  version?: string | undefined;
}

/**
 * Objects under keys (`"a/b/c/0/1"`). Any object with these methods is a
 * store. Calls overlap. What a store throws becomes the `cause` of an
 * IOError; a GridholdError keeps its kind.
 */
export interface Store {
  /**
   * Reads ranges of one object; `undefined` means that there is none. Where
   * `version` is given the answer must be of that version: a store may check
   * by itself and throw StaleError; otherwise the answer's version is
   * compared. `signal` tells that nobody waits any longer.
   */
  read(
    key: string,
    ranges: readonly ByteRange[],
    version: string | undefined,
    signal: AbortSignal,
  ): ReadAnswer | undefined | PromiseLike<ReadAnswer | undefined>;

  /**
   * What `read` would answer, where that is known without waiting; with
   * `undefined` it leaves the request to `read`. It is called while the guest
   * runs, and saves a read the way through the loop; everything waits for it.
   */
  readNow?(key: string, ranges: readonly ByteRange[], version: string | undefined): ReadAnswer | undefined;

  /**
   * The names directly under a prefix (`""` or ending in `/`), without the
   * prefix, sorted; names that have others below end in `/`. Only listing
   * needs it.
   */
  list?(prefix: string, signal: AbortSignal): readonly string[] | PromiseLike<readonly string[]>;
}

/** How an HTTP store takes what a server says. */
export interface HttpOptions {
  /** Take 403 for "no such object", as some object stores answer without a right to list. Default: an error. */
  forbiddenIsMissing?: boolean;
  /** Never ask for the last n bytes; ask for the size first. For servers that do not know suffix ranges. */
  noSuffix?: boolean;
  /** Bytes between two ranges that are rather read than asked around; default 32 KiB, -1: none. */
  gap?: number;
  /** Bytes of a request that is made of several ranges; default 8 MiB. */
  maxMerged?: number;
  /** Requests under way at once; default 32, at most 1024. */
  parallel?: number;
}

/** A directory of objects behind a URL. Its rules (ranges, tags, retries, escaping) are the guest's own. */
export class HttpStore {
  constructor(
    /** Absolute. */
    readonly url: string,
    readonly options: Readonly<HttpOptions>,
  ) {}
}

/**
 * Makes a store of a URL. A relative one is taken relative to the page.
 * Throws InvalidError for what is not a URL, UnsupportedError for one that is
 * not http or https.
 */
export function httpStore(url: string | URL, options: HttpOptions = {}): HttpStore {
  const base = (globalThis as { location?: { href: string } }).location?.href;
  let parsed: URL;
  try {
    parsed = new URL(url, base);
  } catch (cause) {
    throw new InvalidError(`not a URL: ${url}`, { item: String(url), cause });
  }
  if (parsed.protocol !== 'http:' && parsed.protocol !== 'https:') {
    throw new UnsupportedError(`${parsed.protocol} URLs have no store here; for files see @gridhold/gridhold/node`, {
      item: String(url),
    });
  }
  return new HttpStore(parsed.href, { ...options });
}

/** The members of an archive in a store. The guest finds and unpacks them: stored ones are read by ranges. */
export class ZipStore {
  constructor(
    readonly store: HttpStore | Store,
    /** Of the archive in its store. */
    readonly key: string,
  ) {
    if ((store as unknown) instanceof ZipStore) throw new UnsupportedError('an archive within an archive', { item: key });
  }
}

/** Makes a store of the archive behind a URL, in a `File`, or under a key of a store. Throws as `httpStore`. */
export function zipStore(url: string | URL, options?: HttpOptions): ZipStore;
export function zipStore(file: Blob): ZipStore;
export function zipStore(store: HttpStore | Store, key: string): ZipStore;
export function zipStore(where: string | URL | Blob | HttpStore | Store, more?: HttpOptions | string): ZipStore {
  if (where instanceof Blob) return storeOf(where) as ZipStore;
  if (typeof more === 'string') return new ZipStore(storeOf(where) as HttpStore | Store, more);
  const { store, key } = objectAt(where as string | URL, more);
  return new ZipStore(store, key);
}

/** @internal The object that a source is, or that `path` names in it. Throws InvalidError. */
export function objectIn(source: Source, path: string | undefined): { store: Source; key: string } {
  if (path !== undefined && path !== '') return { store: source, key: path };
  if (source instanceof Blob) return { store: blobStore(source), key: blobName(source) };
  if (typeof source === 'string' && source.startsWith(ZIP)) throw new InvalidError('what lies in an archive has a path there', { item: source });
  if (typeof source === 'string' || source instanceof URL) return objectAt(source);
  throw new InvalidError('what lies in a store has a path there');
}

/** @internal The object that a URL names, as a store and its key there. */
export function objectAt(where: string | URL, options?: HttpOptions): { store: HttpStore; key: string } {
  const url = new URL(httpStore(where).url);
  const cut = url.pathname.lastIndexOf('/') + 1;
  const key = decodeURIComponent(url.pathname.slice(cut));
  if (key === '') throw new InvalidError(`names no object: ${where}`, { item: String(where) });
  url.pathname = url.pathname.slice(0, cut);
  return { store: httpStore(url, options), key };
}

const ZIP = 'zip://';

/**
 * Whatever things can be opened from: a URL, also `zip://` and that of an archive; `httpStore(…)`, `zipStore(…)`, or a
 * store; a `File` or `Blob`, which is an archive where a directory is wanted; in Node a path.
 */
export type Source = string | URL | HttpStore | ZipStore | Store | Blob;

/** Makes a store of a source. Throws InvalidError for what is none. */
export function storeOf(source: Source): HttpStore | ZipStore | Store {
  if (source instanceof HttpStore || source instanceof ZipStore) return source;
  if (source instanceof Blob) return new ZipStore(blobStore(source), blobName(source));
  if (typeof source === 'string' && source.startsWith(ZIP)) return zipStore(source.slice(ZIP.length));
  if (typeof source === 'string' || source instanceof URL) return httpStore(source);
  if (typeof source?.read === 'function') return source;
  throw new InvalidError('a URL or an object with a read method is wanted');
}

/** The stores of the caller's that an instance may ask for, by number. The same object keeps its number while it is in use. */
export class StoreTable {
  #byId = new Map<number, { store: Store; users: number }>();
  #ids = new Map<Store, number>();
  #next = 1;

  /** Counts one more user of a store; undo with `release`. */
  acquire(store: Store): number {
    let id = this.#ids.get(store);
    if (id === undefined) {
      id = this.#next++;
      this.#ids.set(store, id);
      this.#byId.set(id, { store, users: 0 });
    }
    this.#byId.get(id)!.users++;
    return id;
  }

  release(id: number): void {
    const entry = this.#byId.get(id);
    if (entry === undefined || --entry.users > 0) return;
    this.#byId.delete(id);
    this.#ids.delete(entry.store);
  }

  get(id: number): Store | undefined {
    return this.#byId.get(id)?.store;
  }
}
