import { ClosedError, InternalError } from './errors.js';
import { heard, told } from './pool-messages.js';
const THROWN_KEPT = 64;
export class RemoteGuest {
    #port;
    #outside;
    #waiting = new Map();
    #questions = new Map();
    #thrown = new Map();
    #last = 0;
    #death;
    #memory = 0;
    #started;
    constructor(port, outside) {
        this.#port = port;
        this.#outside = outside;
    }
    static start(port, start, outside) {
        const guest = new RemoteGuest(port, outside);
        return new Promise((resolve, reject) => {
            guest.#started = { resolve, reject };
            port.listen((message) => guest.#hear(message), (cause) => guest.#die(new InternalError(`gridhold: a worker died: ${told(cause).text}`, { cause })));
            port.send({ start });
        });
    }
    get usable() {
        return this.#death === undefined;
    }
    get memorySize() {
        return this.#death === undefined ? this.#memory : 0;
    }
    get busy() {
        return this.#waiting.size;
    }
    run(kind, request, signal) {
        return new Promise((resolve, reject) => {
            if (signal?.aborted)
                return reject(signal.reason);
            if (this.#death !== undefined)
                return reject(this.#death);
            const id = ++this.#last;
            const leave = () => {
                this.#ended(id);
                this.#port.send({ leave: id });
                reject(signal.reason);
            };
            const done = (end) => (value) => {
                signal?.removeEventListener('abort', leave);
                end(value);
            };
            signal?.addEventListener('abort', leave, { once: true });
            this.#waiting.set(id, { resolve: done(resolve), reject: done(reject) });
            this.#port.hold(true);
            this.#port.send({ run: id, kind, request });
        });
    }
    close() {
        this.#die(new ClosedError('gridhold: closed'));
    }
    #hear(message) {
        if ('started' in message)
            this.#started.resolve(this);
        else if ('refused' in message)
            this.#die(heard(message.refused));
        else if ('done' in message) {
            this.#memory = message.memory;
            this.#ended(message.done)?.resolve({ bytes: message.bytes, object: message.object });
        }
        else if ('failed' in message) {
            const { error } = message;
            const failure = heard(error, this.#thrown.get(error.thrown ?? 0));
            this.#ended(message.failed)?.reject(failure);
            if (!message.usable)
                this.#die(failure);
        }
        else if ('question' in message)
            void this.#answer(message.question, message.is);
        else if ('abandoned' in message)
            this.#questions.get(message.abandoned)?.abort();
        else
            this.#outside.log(message.log, message.text);
    }
    #ended(id) {
        const waiting = this.#waiting.get(id);
        this.#waiting.delete(id);
        if (this.#waiting.size === 0)
            this.#port.hold(false);
        return waiting;
    }
    async #answer(id, question) {
        const abandoned = new AbortController();
        this.#questions.set(id, abandoned);
        try {
            const is = await this.#ask(question, abandoned.signal);
            if (abandoned.signal.aborted || this.#death !== undefined)
                return;
            this.#port.send({ answer: id, is }, is.what === 'fetch' && is.body !== null ? [is.body] : []);
        }
        catch (error) {
            if (this.#death !== undefined)
                return;
            this.#thrown.set(id, error);
            if (this.#thrown.size > THROWN_KEPT)
                this.#thrown.delete(this.#thrown.keys().next().value);
            this.#port.send({ answer: id, failed: told(error, id) });
        }
        finally {
            this.#questions.delete(id);
        }
    }
    async #ask(question, signal) {
        if (question.what === 'fetch') {
            const { url, method, headers } = question;
            const { fetch } = this.#outside;
            const response = await fetch(url, { method, headers, signal });
            return { what: 'fetch', url: response.url, status: response.status, headers: [...response.headers], body: response.body };
        }
        const store = this.#outside.stores.get(question.store);
        if (store === undefined)
            throw new InternalError(`there is no store ${question.store}`);
        if (question.what === 'list')
            return { what: 'list', names: await store.list?.(question.prefix, signal) };
        const { key, ranges, version } = question;
        return { what: 'read', answer: await store.read(key, ranges, version, signal) };
    }
    #die(error) {
        if (this.#death !== undefined)
            return;
        this.#death = error;
        this.#port.end();
        this.#started?.reject(error);
        for (const { reject } of this.#waiting.values())
            reject(error);
        this.#waiting.clear();
        for (const question of this.#questions.values())
            question.abort();
    }
}
