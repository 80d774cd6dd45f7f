import type { GridArray } from './array.js';
import type { Entry, Gridhold, OpenOptions } from './gridhold.js';
import type { Handle } from './handle.js';
import type { Source } from './store.js';

/** A pyramid of an OME-Zarr group. */
export interface Multiscale {
  name?: string;
  version?: string;
  axes: { name: string; type?: string; unit?: string }[];
  /** Finest first. Paths are relative to the group; `scale` is the size of an element along each axis, `translation` where the first one lies. */
  levels: { path: string; scale?: number[]; translation?: number[] }[];
}

/** What a group says of itself. */
export interface GroupInfo {
  kind: 'group';
  path: string;
  zarr_format: number;
  attributes?: Record<string, unknown>;
  multiscales?: Multiscale[];
}

/** A group of nodes, opened by `Gridhold.openGroup` or `open`. */
export class GridGroup {
  #gridhold: Gridhold;
  #source: Source;
  #handle: Handle;
  #options: OpenOptions;
  /** The description, as `gridhold info --json` prints it. */
  readonly info: GroupInfo;

  /** @internal */
  constructor(gridhold: Gridhold, source: Source, handle: Handle, info: GroupInfo, options: OpenOptions) {
    this.#gridhold = gridhold;
    this.#source = source;
    this.#handle = handle;
    this.info = info;
    this.#options = options;
    handle.ownedBy(this);
  }

  get path(): string {
    return this.info.path;
  }

  get attributes(): Record<string, unknown> {
    return this.info.attributes ?? {};
  }

  /** The pyramids of an OME-Zarr group; none where it has none, or none that can be understood. */
  get multiscales(): Multiscale[] {
    return this.info.multiscales ?? [];
  }

  /** All nodes below it. Paths are those in the store. */
  list(options: { signal?: AbortSignal | undefined } = {}): Promise<Entry[]> {
    return this.#gridhold.list(this.#source, this.#at(this.path, options.signal));
  }

  /** Opens a node below it by its path relative to the group, as the group was opened. Errors as of `Gridhold.openArray`. */
  open(path: string, options: { signal?: AbortSignal | undefined } = {}): Promise<GridArray | GridGroup> {
    return this.#gridhold.open(this.#source, this.#at(this.path === '' ? path : `${this.path}/${path}`, options.signal));
  }

  /** Twice is fine. */
  close(): void {
    this.#handle.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #at(path: string, signal: AbortSignal | undefined): OpenOptions {
    return { ...this.#options, path, signal };
  }
}
