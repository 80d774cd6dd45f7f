import { SystemTable } from './files.js';
import { Guest } from './guest.js';
import { heard, told } from './pool-messages.js';
import { StoreTable } from './store.js';
class Thrown extends Error {
    number;
    constructor(number) {
        super();
        this.number = number;
    }
}
export function serveGuest(port) {
    const questions = new Map();
    const running = new Map();
    let guest;
    let last = 0;
    const ask = (is, signal) => new Promise((resolve, reject) => {
        const id = ++last;
        questions.set(id, { resolve, reject });
        signal?.addEventListener('abort', () => {
            if (!questions.delete(id))
                return;
            port.send({ abandoned: id });
            reject(signal.reason);
        });
        port.send({ question: id, is });
    });
    const start = async ({ module, memory, codecs, fetches }) => {
        const outside = {
            stores: new ThreadStores(ask),
            systems: new SystemTable(),
            fetch: fetches ? threadFetch(ask) : (input, init) => fetch(input, init),
            codecs: codecs === undefined ? {} : (await import(codecs)),
            strict: true,
            log: (log, text) => port.send({ log, text }),
        };
        guest = await Guest.start(module, memory, outside);
        port.send({ started: true });
    };
    const run = async ({ run: id, kind, request }) => {
        const leaving = new AbortController();
        running.set(id, leaving);
        const at = guest;
        try {
            const { bytes, object } = await at.run(kind, request, leaving.signal);
            port.send({ done: id, bytes, object, memory: at.memorySize }, [bytes.buffer]);
        }
        catch (error) {
            if (leaving.signal.aborted)
                return;
            const { cause } = error;
            port.send({ failed: id, error: told(error, cause?.cause?.number), usable: at.usable });
        }
        finally {
            running.delete(id);
        }
    };
    port.listen((message) => {
        if ('start' in message)
            start(message.start).catch((error) => port.send({ refused: told(error) }));
        else if ('run' in message)
            void run(message);
        else if ('leave' in message)
            running.get(message.leave)?.abort();
        else {
            const asked = questions.get(message.answer);
            questions.delete(message.answer);
            if ('is' in message)
                asked?.resolve(message.is);
            else
                asked?.reject(heard(message.failed, new Thrown(message.failed.thrown ?? 0)));
        }
    }, () => { });
}
class ThreadStores extends StoreTable {
    #ask;
    constructor(ask) {
        super();
        this.#ask = ask;
    }
    get(store) {
        return {
            read: async (key, ranges, version, signal) => {
                const is = await this.#ask({ what: 'read', store, key, ranges, version }, signal);
                return is.answer;
            },
            list: async (prefix, signal) => {
                const is = await this.#ask({ what: 'list', store, prefix }, signal);
                return is.names ?? [];
            },
        };
    }
}
function threadFetch(ask) {
    return async (input, init) => {
        const url = String(input);
        const headers = [...new Headers(init?.headers)];
        const is = (await ask({ what: 'fetch', url, method: init?.method ?? 'GET', headers }, init?.signal));
        const response = new Response(is.status === 204 || is.status === 304 ? null : is.body, { status: is.status, headers: is.headers });
        Object.defineProperty(response, 'url', { value: is.url });
        return response;
    };
}
