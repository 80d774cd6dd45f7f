import { Fetch, FETCH_CUT } from './abi.js';
import { GridholdError, IOError } from './errors.js';
import { PageFetch, discard, isAbroad, pageOrigin } from './page-fetch.js';
export class Released extends Error {
}
export class Exchanges {
    #memory;
    #fetch;
    #page;
    constructor(memory, fetch) {
        this.#memory = memory;
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
    async #body(response, req, check) {
        const cap = this.#memory.view().getUint32(req + Fetch.bodyCap, true);
        let length = 0;
        if (response.body === null)
            return { length, cut: false };
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
                reader.cancel().catch(() => { });
                return { length, cut: true };
            }
        }
    }
    #answerHeader(response, req) {
        const unpacked = response.status !== 206 && response.headers.has('content-encoding');
        const v = this.#memory.view();
        const room = v.getUint32(req + Fetch.answerCap, true);
        let lines = '';
        response.headers.forEach((value, name) => {
            if (unpacked && (name === 'content-encoding' || name === 'content-length'))
                return;
            const line = `${name}: ${value}\r\n`;
            if (3 * (lines.length + line.length) <= room)
                lines += line;
        });
        return utf8.encodeInto(lines, this.#memory.bytes(v.getUint32(req + Fetch.answer, true), room)).written;
    }
}
const utf8 = new TextEncoder();
export function reason(thrown) {
    if (!(thrown instanceof Error))
        return String(thrown);
    const { message, cause } = thrown;
    return cause instanceof Error && cause.message !== '' ? `${message}: ${cause.message}` : message;
}
function crossOrigin(url) {
    if (!isAbroad(url))
        return '';
    return ' (or the server does not allow this page to read it: cross-origin rules)';
}
