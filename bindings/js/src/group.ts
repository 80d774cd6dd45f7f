import type { Entry, Gridhold } from './gridhold.js';
import type { Handle } from './handle.js';
import type { Source } from './store.js';

/** What a group says of itself. */
export interface GroupInfo {
  kind: 'group';
  path: string;
  zarr_format: number;
  attributes?: Record<string, unknown>;
}

/** A group of nodes, opened by `Gridhold.openGroup` or `open`. */
export class GridGroup {
  #gridhold: Gridhold;
  #source: Source;
  #handle: Handle;
  /** The description, as `gridhold info --json` prints it. */
  readonly info: GroupInfo;

  /** @internal */
  constructor(gridhold: Gridhold, source: Source, handle: Handle, info: GroupInfo) {
    this.#gridhold = gridhold;
    this.#source = source;
    this.#handle = handle;
    this.info = info;
    handle.ownedBy(this);
  }

  get path(): string {
    return this.info.path;
  }

  get attributes(): Record<string, unknown> {
    return this.info.attributes ?? {};
  }

  /** All nodes below it. */
  list(options: { signal?: AbortSignal } = {}): Promise<Entry[]> {
    return this.#gridhold.list(this.#source, { path: this.path, signal: options.signal });
  }

  /** Twice is fine. */
  close(): void {
    this.#handle.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
