// What the thread of a Gridhold and the workers of its pool tell each other.

import { Code, type CodeName, type Kind } from './abi.js';
import { GridholdError, errorOf, type ErrorDetail } from './errors.js';
import type { ByteRange, ReadAnswer } from './store.js';

/** An error on its way. `thrown` is the number that the thread gave to what a caller's store threw. */
export interface Told {
  code: CodeName;
  text: string;
  detail: Omit<ErrorDetail, 'cause'>;
  thrown?: number | undefined;
}

/** What a worker asks of the thread: reads of stores that are there, and a fetch of the caller's. */
export type Question =
  | { what: 'read'; store: number; key: string; ranges: readonly ByteRange[]; version: string | undefined }
  | { what: 'list'; store: number; prefix: string }
  | { what: 'fetch'; url: string; method: string; headers: [string, string][] };

/** What it is answered. */
export type Answered =
  | { what: 'read'; answer: ReadAnswer | undefined }
  | { what: 'list'; names: readonly string[] | undefined }
  | { what: 'fetch'; url: string; status: number; headers: [string, string][]; body: ReadableStream<Uint8Array> | null };

/** How a worker begins. */
export interface Start {
  module: WebAssembly.Module;
  memory: number;
  /** The URL of a module. */
  codecs: string | undefined;
  /** Whether exchanges are made in the thread, by a fetch of the caller's. */
  fetches: boolean;
}

/** One operation. */
export interface Run {
  run: number;
  kind: Kind;
  request: Uint8Array;
}

export type ToWorker =
  | { start: Start }
  | Run
  | { leave: number }
  | { answer: number; is: Answered }
  | { answer: number; failed: Told };

export type FromWorker =
  | { started: true }
  | { refused: Told }
  | { done: number; bytes: Uint8Array<ArrayBuffer>; object: number; memory: number }
  | { failed: number; error: Told; usable: boolean }
  | { question: number; is: Question }
  | { abandoned: number }
  | { log: number; text: string };

/** One end of the way between them. */
export interface Port<Out, In> {
  send(message: Out, transfer?: Transferable[]): void;
  listen(hear: (message: In) => void, broken: (cause: unknown) => void): void;
  /** Ends the worker; of the thread's end alone. */
  end(): void;
  /** Whether the process has to wait for it; Node asks. */
  hold(held: boolean): void;
}

/** An error for the way. */
export function told(error: unknown, thrown?: number): Told {
  if (!(error instanceof GridholdError)) return { code: 'IO', text: error instanceof Error ? error.message : String(error), detail: {}, thrown };
  const { format, item, offset } = error;
  return { code: error.code, text: error.message, detail: { format, item, offset }, thrown };
}

/** The error that came. */
export function heard({ code, text, detail }: Told, cause?: unknown): GridholdError {
  return errorOf(Code[code], text, cause === undefined ? detail : { ...detail, cause });
}
