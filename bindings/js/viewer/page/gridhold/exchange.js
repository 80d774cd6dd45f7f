// HTTP exchanges of an instance, by the platform's fetch or the caller's.
import { Fetch, FETCH_CUT } from './abi.js';
import { GridholdError, IOError } from './errors.js';
import { PageFetch, discard, isAbroad, pageOrigin } from './page-fetch.js';
/** Thrown by a continuation that finds its token released: nothing may be written any more. */
export class Released extends Error {
}
export class Exchanges {
    #memory;
    #fetch;
    #page;
    constructor(memory, fetch) {
        this.#memory = memory;
        // Called as a plain function, whatever `this` it has.
        this.#fetch = async (url, init) => {
            const response = await fetch(url, init);
            if (response.url !== url && response.url !== '' && new URL(response.url).protocol !== new URL(url).protocol) {
                discard(response);
                throw new IOError(`${url}: redirected to another scheme`, { item: url });
            }
            return response;
        };
        const origin = pageOrigin();
        if (origin !== undefined)
            this.#page = new PageFetch(this.#fetch, origin);
    }
    /** `fetch`: answers the length of the body. `check` throws Released when nothing may be written any more. */
    async make(req, signal, check) {
        const v = this.#memory.view();
        const text = (at) => this.#memory.text(v.getUint32(req + at, true), v.getUint32(req + at + 4, true));
        const url = text(Fetch.url);
        const headers = {};
        for (const line of text(Fetch.header).split('\r\n')) {
            const colon = line.indexOf(':');
            if (colon > 0)
                headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
        }
        try {
            const init = { method: text(Fetch.method), signal };
            const response = await (this.#page?.fetch(url, init, headers) ?? this.#fetch(url, { ...init, headers }));
            check();
            const { length, cut } = await this.#body(response, req, check);
            const w = this.#memory.view();
            w.setUint32(req + Fetch.status, response.status, true);
            w.setUint32(req + Fetch.flags, cut ? FETCH_CUT : 0, true);
            w.setUint32(req + Fetch.answerLen, this.#answerHeader(response, req), true);
            return length;
        }
        catch (cause) {
            if (cause instanceof Released || cause instanceof GridholdError)
                throw cause;
            throw new IOError(`${url}: ${reason(cause)}${crossOrigin(url)}`, { item: url, cause });
        }
    }
    /** Moves the body into the guest as it comes, and stops where it is longer than wanted. */
    async #body(response, req, check) {
        const cap = this.#memory.view().getUint32(req + Fetch.bodyCap, true);
        let length = 0;
        if (response.body === null)
            return { length, cut: false };
        // A stream costs a page more than the bytes of most answers do.
        if (!response.headers.has('content-encoding') && Number(response.headers.get('content-length') ?? Infinity) <= cap) {
            const bytes = new Uint8Array(await response.arrayBuffer());
            check();
            if (bytes.length > cap)
                throw new IOError('an answer that is longer than it says');
            this.#memory.bytes(this.#memory.view().getUint32(req + Fetch.body, true), bytes.length).set(bytes);
            return { length: bytes.length, cut: false };
        }
        const reader = response.body.getReader();
        for (;;) {
            const { done, value } = await reader.read();
            check();
            if (done)
                return { length, cut: false };
            const part = value.subarray(0, cap - length);
            this.#memory.bytes(this.#memory.view().getUint32(req + Fetch.body, true) + length, part.length).set(part);
            length += part.length;
            if (part.length < value.length) {
                reader.cancel().catch(() => { }); // nobody waits for how the rest ends
                return { length, cut: true };
            }
        }
    }
    /** Writes as many whole header lines as there is room for. */
    #answerHeader(response, req) {
        // The platform has unpacked a whole answer already. Of a part it cannot
        // have made sense; there the guest must see the header and refuse.
        const unpacked = response.status !== 206 && response.headers.has('content-encoding');
        const v = this.#memory.view();
        const room = v.getUint32(req + Fetch.answerCap, true);
        let lines = '';
        response.headers.forEach((value, name) => {
            if (unpacked && (name === 'content-encoding' || name === 'content-length'))
                return;
            const line = `${name}: ${value}\r\n`;
            if (3 * (lines.length + line.length) <= room)
                lines += line; // as UTF-8 it is no longer than that
        });
        return utf8.encodeInto(lines, this.#memory.bytes(v.getUint32(req + Fetch.answer, true), room)).written;
    }
}
const utf8 = new TextEncoder();
/** What an error says, with the cause that fetch hides one level down. */
export function reason(thrown) {
    if (!(thrown instanceof Error))
        return String(thrown);
    const { message, cause } = thrown;
    return cause instanceof Error && cause.message !== '' ? `${message}: ${cause.message}` : message;
}
/** A browser does not tell a dead line from a refusal by the cross-origin rules, so both are named. */
function crossOrigin(url) {
    if (!isAbroad(url))
        return '';
    return ' (or the server does not allow this page to read it: cross-origin rules)';
}
