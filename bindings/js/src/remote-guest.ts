// An instance in a worker, as the thread sees it.

import type { Kind } from './abi.js';
import { ClosedError, InternalError, type GridholdError } from './errors.js';
import type { Outside } from './io.js';
import { heard, told, type Answered, type FromWorker, type Port, type Question, type Start, type ToWorker } from './pool-messages.js';
import type { Reply, Runner } from './runner.js';

interface Waiting {
  resolve(reply: Reply): void;
  reject(error: unknown): void;
}

/** How many errors of stores are kept until they come back as the cause of another one. */
const THROWN_KEPT = 64;

export class RemoteGuest implements Runner {
  #port: Port<ToWorker, FromWorker>;
  #outside: Outside;
  #waiting = new Map<number, Waiting>();
  #questions = new Map<number, AbortController>();
  #thrown = new Map<number, unknown>();
  #last = 0;
  #death: GridholdError | undefined;
  #memory = 0;
  #started: { resolve: (guest: RemoteGuest) => void; reject: (error: unknown) => void } | undefined;

  private constructor(port: Port<ToWorker, FromWorker>, outside: Outside) {
    this.#port = port;
    this.#outside = outside;
  }

  /** Starts an instance in a worker of its own. Rejects as `Guest.start`. */
  static start(port: Port<ToWorker, FromWorker>, start: Start, outside: Outside): Promise<RemoteGuest> {
    const guest = new RemoteGuest(port, outside);
    return new Promise((resolve, reject) => {
      guest.#started = { resolve, reject };
      port.listen((message) => guest.#hear(message), (cause) => guest.#die(new InternalError(`gridhold: a worker died: ${told(cause).text}`, { cause })));
      port.send({ start });
    });
  }

  get usable(): boolean {
    return this.#death === undefined;
  }

  /** Size of the instance's memory after its last operation, in bytes. */
  get memorySize(): number {
    return this.#death === undefined ? this.#memory : 0;
  }

  /** How many operations are under way. */
  get busy(): number {
    return this.#waiting.size;
  }

  run(kind: Kind, request: Uint8Array, signal?: AbortSignal): Promise<Reply> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      if (this.#death !== undefined) return reject(this.#death);
      const id = ++this.#last;
      const leave = () => {
        this.#ended(id);
        this.#port.send({ leave: id });
        reject(signal!.reason);
      };
      const done = <T>(end: (value: T) => void) => (value: T) => {
        signal?.removeEventListener('abort', leave);
        end(value);
      };
      signal?.addEventListener('abort', leave, { once: true });
      this.#waiting.set(id, { resolve: done(resolve), reject: done(reject) });
      this.#port.hold(true);
      this.#port.send({ run: id, kind, request });
    });
  }

  /** Ends the worker; what runs is rejected with ClosedError. */
  close(): void {
    this.#die(new ClosedError('gridhold: closed'));
  }

  #hear(message: FromWorker): void {
    if ('started' in message) this.#started!.resolve(this);
    else if ('refused' in message) this.#die(heard(message.refused));
    else if ('done' in message) {
      this.#memory = message.memory;
      this.#ended(message.done)?.resolve({ bytes: message.bytes, object: message.object });
    } else if ('failed' in message) {
      const { error } = message;
      const failure = heard(error, this.#thrown.get(error.thrown ?? 0));
      this.#ended(message.failed)?.reject(failure);
      if (!message.usable) this.#die(failure);
    } else if ('question' in message) void this.#answer(message.question, message.is);
    else if ('abandoned' in message) this.#questions.get(message.abandoned)?.abort();
    else this.#outside.log(message.log, message.text);
  }

  #ended(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (this.#waiting.size === 0) this.#port.hold(false);
    return waiting;
  }

  async #answer(id: number, question: Question): Promise<void> {
    const abandoned = new AbortController();
    this.#questions.set(id, abandoned);
    try {
      const is = await this.#ask(question, abandoned.signal);
      if (abandoned.signal.aborted || this.#death !== undefined) return;
      this.#port.send({ answer: id, is }, is.what === 'fetch' && is.body !== null ? [is.body as never] : []);
    } catch (error) {
      if (this.#death !== undefined) return;
      this.#thrown.set(id, error);
      if (this.#thrown.size > THROWN_KEPT) this.#thrown.delete(this.#thrown.keys().next().value!);
      this.#port.send({ answer: id, failed: told(error, id) });
    } finally {
      this.#questions.delete(id);
    }
  }

  async #ask(question: Question, signal: AbortSignal): Promise<Answered> {
    if (question.what === 'fetch') {
      const { url, method, headers } = question;
      const { fetch } = this.#outside;
      const response = await fetch(url, { method, headers, signal });
      return { what: 'fetch', url: response.url, status: response.status, headers: [...response.headers], body: response.body };
    }
    const store = this.#outside.stores.get(question.store);
    if (store === undefined) throw new InternalError(`there is no store ${question.store}`);
    if (question.what === 'list') return { what: 'list', names: await store.list?.(question.prefix, signal) };
    const { key, ranges, version } = question;
    return { what: 'read', answer: await store.read(key, ranges, version, signal) };
  }

  #die(error: GridholdError): void {
    if (this.#death !== undefined) return;
    this.#death = error;
    this.#port.end();
    this.#started?.reject(error);
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
    for (const question of this.#questions.values()) question.abort();
  }
}
