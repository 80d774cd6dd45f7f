// What Node adds, set by its entry of the package: pages have no paths.

import type { FileSource } from './container.js';
import type { FromWorker, Port, ToWorker } from './pool-messages.js';
import type { Store } from './store.js';

/** Hooks of the entry for Node; none are set in a page. */
export const platform: {
  /** fetch does not read files there. */
  readFile?: (url: URL) => Promise<Uint8Array>;
  /** A directory as a store. */
  directory?: (path: string) => Store & { close(): void };
  /** A file in its directory. */
  file?: (path: string) => FileSource;
  /** A worker of a pool. */
  worker?: () => Port<ToWorker, FromWorker>;
} = {};

/** The path that a source is, in Node: a string without a scheme, or a URL of a file. */
export function pathOf(source: unknown): string | undefined {
  if (platform.file === undefined) return undefined;
  if (typeof source === 'string') return /^(?!file:)[a-z][a-z0-9+.-]+:/i.test(source) ? undefined : unescaped(source);
  return source instanceof URL && source.protocol === 'file:' ? unescaped(source.href) : undefined;
}

function unescaped(path: string): string {
  if (!path.startsWith('file:')) return path;
  const { pathname } = new URL(path);
  // As fileURLToPath: no drive has a slash before it.
  return decodeURIComponent(pathname).replace(/^\/([a-z]:)/i, '$1');
}
