// Requests of a page. What a browser does not let through to another origin
// at once (the Fetch standard, "CORS-safelisted request-header") costs a
// preflight, which many servers refuse: If-Match, and ranges from the end. So
// tags are compared in the answer, and the end is found by the size that the
// answer tells.
/** Bytes before the wanted ones that are rather read than asked around. */
const SKIP = 256 * 1024;
/** How far before the earliest tail so far the next one is looked for. */
const SLACK = 16 * 1024;
/** Origins, and lengths of tails there, that are remembered. */
const KEPT = 256;
/** Makes the requests of a page, or of its worker, and learns of servers how. */
export class PageFetch {
    #fetch;
    #home;
    #tails = new Map();
    /** Origins that do not tell a page the size of what they send parts of. */
    #silent = new Set();
    /** `origin` is the page's. */
    constructor(fetch, origin) {
        this.#fetch = fetch;
        this.#home = `${origin}/`;
    }
    /** As `fetch`, without what costs a preflight where that can be done without. */
    async fetch(url, init, headers) {
        if (url.startsWith(this.#home))
            return this.#plain(url, init, headers);
        const { 'if-match': tag, ...rest } = headers;
        const suffix = /^bytes=-(\d+)$/.exec(rest.range ?? '');
        const response = suffix === null ? await this.#plain(url, init, rest) : await this.#tail(url, init, rest, Number(suffix[1]));
        if (tag === undefined || !(response.ok || response.status === 416))
            return response;
        // What begins behind the end, and has no tag, is taken for a part of what was there before.
        const got = response.headers.get('etag');
        if (got === tag || (got === null && response.ok))
            return response;
        discard(response);
        return new Response(null, { status: 412 });
    }
    async #plain(url, init, headers) {
        try {
            // Chromium's cache lets one request at a time have an object, though each wants another part of it.
            return await this.#fetch(url, { ...init, headers, ...('range' in headers && { cache: 'no-store' }) });
        }
        catch (error) {
            // Chromium fails where a server packs what was asked for by a range. What
            // begins at 0 may be had whole; whoever wanted a part of it cuts it.
            if (!(error instanceof TypeError) || !/^bytes=0-\d+$/.test(headers.range ?? ''))
                throw error;
            const { range: _, ...whole } = headers;
            return this.#fetch(url, { ...init, headers: whole });
        }
    }
    /** The last `n` bytes, by a range that begins where they may. */
    async #tail(url, init, headers, n) {
        const { origin } = new URL(url);
        if (this.#silent.has(origin))
            return this.#plain(url, init, headers);
        const kind = `${origin} ${n}`;
        const from = (start) => this.#plain(url, init, { ...headers, range: `bytes=${start}-` });
        for (let start = this.#guess(kind), tries = 0;; tries++) {
            const response = await from(start);
            if (response.status !== 206 && response.status !== 416)
                return response;
            const told = /^bytes (?:(\d+)-\d+|\*)\/(\d+)$/.exec(response.headers.get('content-range') ?? '');
            if (told === null) {
                discard(response);
                this.#silent.add(origin);
                return this.#plain(url, init, headers);
            }
            const size = Number(told[2]);
            const tail = Math.max(0, size - n);
            this.#learn(kind, tail);
            if (response.status === 206 && Number(told[1]) === start && start <= tail && (tail - start <= SKIP || tries > 1)) {
                return ending(response, tail - start, tail, size);
            }
            // One that is empty has no range; one that keeps changing is the guest's to judge.
            if (size === 0 || tries > 2)
                return response;
            discard(response);
            start = tail;
        }
    }
    #guess(kind) {
        const seen = this.#tails.get(kind);
        return seen === undefined ? 0 : Math.max(0, seen.first - SLACK, seen.last - SKIP);
    }
    #learn(kind, tail) {
        const { first, last } = this.#tails.get(kind) ?? { first: tail, last: tail };
        this.#tails.delete(kind);
        this.#tails.set(kind, { first: Math.min(first, tail), last: Math.max(last, tail) });
        if (this.#tails.size > KEPT)
            this.#tails.delete(this.#tails.keys().next().value);
    }
}
/** Whether a page, or its worker, asks another origin. Never in Node. */
export function isAbroad(url) {
    const origin = pageOrigin();
    return origin !== undefined && !url.startsWith(`${origin}/`);
}
/** The origin of the page; `undefined` in Node. */
export function pageOrigin() {
    return globalThis.location?.origin;
}
/** An answer without the first `skip` bytes of its body. */
function ending(response, skip, tail, size) {
    const headers = new Headers(response.headers);
    headers.set('content-range', `bytes ${tail}-${size - 1}/${size}`);
    headers.delete('content-length');
    let left = skip;
    const cut = new TransformStream({
        transform(part, controller) {
            if (part.length > left)
                controller.enqueue(part.subarray(left));
            left = Math.max(0, left - part.length);
        },
    });
    return new Response(response.body?.pipeThrough(cut) ?? null, { status: response.status, headers });
}
/** Nobody reads the rest. */
export function discard(response) {
    response.body?.cancel().catch(() => { });
}
