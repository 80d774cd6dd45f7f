// What runs operations: an instance of the guest in this thread, or one in a worker.

import type { Kind } from './abi.js';

/** What an operation answered. `bytes` are a copy and belong to the caller. */
export interface Reply {
  bytes: Uint8Array<ArrayBuffer>;
  /** A handle that the operation made, or 0. */
  object: number;
}

/** An instance, wherever it is. */
export interface Runner {
  /** Whether it takes operations: it lives, and nothing in it has panicked. */
  readonly usable: boolean;
  /** Runs one operation. An abort leaves at once with the signal's reason; all other failures are GridholdErrors. */
  run(kind: Kind, request: Uint8Array, signal?: AbortSignal): Promise<Reply>;
}
