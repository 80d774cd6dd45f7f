// The part of a pool that runs in its worker: an instance of the guest, whose
// stores are the thread's.

import type { Codecs } from './codecs.js';
import { SystemTable } from './files.js';
import { Guest } from './guest.js';
import type { Outside } from './io.js';
import { heard, told, type Answered, type FromWorker, type Port, type Question, type Run, type Start, type ToWorker } from './pool-messages.js';
import { StoreTable, type Store } from './store.js';

/** What the thread threw, by the number that it has there. */
class Thrown extends Error {
  constructor(readonly number: number) {
    super();
  }
}

/** Serves operations for the other end of the port. */
export function serveGuest(port: Port<FromWorker, ToWorker>): void {
  const questions = new Map<number, { resolve: (is: Answered) => void; reject: (error: unknown) => void }>();
  const running = new Map<number, AbortController>();
  let guest: Guest | undefined;
  let last = 0;

  const ask = (is: Question, signal: AbortSignal | null | undefined) =>
    new Promise<Answered>((resolve, reject) => {
      const id = ++last;
      questions.set(id, { resolve, reject });
      signal?.addEventListener('abort', () => {
        if (!questions.delete(id)) return;
        port.send({ abandoned: id });
        reject(signal.reason);
      });
      port.send({ question: id, is });
    });

  const start = async ({ module, memory, codecs, fetches }: Start) => {
    const outside: Outside = {
      stores: new ThreadStores(ask),
      systems: new SystemTable(),
      fetch: fetches ? threadFetch(ask) : (input, init) => fetch(input, init),
      codecs: codecs === undefined ? {} : ((await import(codecs)) as Codecs),
      strict: true,
      log: (log, text) => port.send({ log, text }),
    };
    guest = await Guest.start(module, memory, outside);
    port.send({ started: true });
  };

  const run = async ({ run: id, kind, request }: Run) => {
    const leaving = new AbortController();
    running.set(id, leaving);
    const at = guest!;
    try {
      const { bytes, object } = await at.run(kind, request, leaving.signal);
      port.send({ done: id, bytes, object, memory: at.memorySize }, [bytes.buffer]);
    } catch (error) {
      if (leaving.signal.aborted) return; // nobody waits
      const { cause } = error as { cause?: unknown };
      port.send({ failed: id, error: told(error, (cause as { cause?: { number?: number } } | undefined)?.cause?.number), usable: at.usable });
    } finally {
      running.delete(id);
    }
  };

  port.listen((message) => {
    if ('start' in message) start(message.start).catch((error: unknown) => port.send({ refused: told(error) }));
    else if ('run' in message) void run(message);
    else if ('leave' in message) running.get(message.leave)?.abort();
    else {
      const asked = questions.get(message.answer);
      questions.delete(message.answer);
      if ('is' in message) asked?.resolve(message.is);
      else asked?.reject(heard(message.failed, new Thrown(message.failed.thrown ?? 0)));
    }
  }, () => {});
}

type Ask = (is: Question, signal: AbortSignal | null | undefined) => Promise<Answered>;

/** The stores of the thread, by the numbers that they have there. */
class ThreadStores extends StoreTable {
  #ask: Ask;

  constructor(ask: Ask) {
    super();
    this.#ask = ask;
  }

  override get(store: number): Store {
    return {
      read: async (key, ranges, version, signal) => {
        const is = await this.#ask({ what: 'read', store, key, ranges, version }, signal);
        return (is as Answered & { what: 'read' }).answer;
      },
      list: async (prefix, signal) => {
        const is = await this.#ask({ what: 'list', store, prefix }, signal);
        return (is as Answered & { what: 'list' }).names ?? [];
      },
    };
  }
}

/** The fetch of the thread. */
function threadFetch(ask: Ask): typeof fetch {
  return async (input, init) => {
    const url = String(input);
    const headers = [...new Headers(init?.headers)];
    const is = (await ask({ what: 'fetch', url, method: init?.method ?? 'GET', headers }, init?.signal)) as Answered & { what: 'fetch' };
    const response = new Response(is.status === 204 || is.status === 304 ? null : is.body, { status: is.status, headers: is.headers });
    Object.defineProperty(response, 'url', { value: is.url });
    return response;
  };
}
