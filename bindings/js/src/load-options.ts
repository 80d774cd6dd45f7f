// How Gridhold is loaded.

import type { Codecs } from './codecs.js';
import type { WasmSource } from './loader.js';

/** How Gridhold is loaded. */
export interface LoadOptions {
  /** The guest: a URL, its bytes, or a module compiled by `Gridhold.compile`. Default: the one in the package. */
  wasm?: WasmSource;
  /**
   * The most memory of an instance, in bytes; default 512 MiB. Limits of
   * chunks and indexes follow from it. A module that is compiled already
   * keeps the maximum it was compiled with.
   */
  memory?: number;
  /** Codecs lent to the guest, or the URL of a module that exports them. Results are the same with and without. */
  codecs?: Codecs | string | URL;
  /** Lend nothing, whatever `codecs` says. */
  strict?: boolean;
  /** Makes HTTP exchanges; for credentials and headers of your own. Default: the platform's `fetch`. */
  fetch?: typeof fetch;
  /**
   * How many instances read arrays, each in a worker; default 0: all runs in this thread. Each may have `memory` bytes.
   * They open an array for themselves when they first read of it. The subchunks of a shard are read by one of them, which
   * has its index; a region is divided among them, and each keeps the indexes that it needs. Codecs that are lent have to be those of a module.
   */
  pool?: number;
  /** Told what the guest wants to be known. Level as in syslog. */
  log?: (level: number, text: string) => void;
}

/** @internal The URL of a module of codecs. */
export function codecModule(codecs: Codecs | string | URL | undefined): string | undefined {
  if (codecs instanceof URL) return codecs.href;
  if (typeof codecs !== 'string') return undefined;
  return new URL(codecs, (globalThis as { location?: { href: string } }).location?.href).href;
}
