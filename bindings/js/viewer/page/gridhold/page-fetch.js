const SKIP = 256 * 1024;
const SLACK = 16 * 1024;
const KEPT = 256;
export class PageFetch {
    #fetch;
    #home;
    #tails = new Map();
    #silent = new Set();
    constructor(fetch, origin) {
        this.#fetch = fetch;
        this.#home = `${origin}/`;
    }
    async fetch(url, init, headers) {
        if (url.startsWith(this.#home))
            return this.#plain(url, init, headers);
        const { 'if-match': tag, ...rest } = headers;
        const suffix = /^bytes=-(\d+)$/.exec(rest.range ?? '');
        const response = suffix === null ? await this.#plain(url, init, rest) : await this.#tail(url, init, rest, Number(suffix[1]));
        if (tag === undefined || !(response.ok || response.status === 416))
            return response;
        const got = response.headers.get('etag');
        if (got === tag || (got === null && response.ok))
            return response;
        discard(response);
        return new Response(null, { status: 412 });
    }
    async #plain(url, init, headers) {
        try {
            return await this.#fetch(url, { ...init, headers, ...('range' in headers && { cache: 'no-store' }) });
        }
        catch (error) {
            if (!(error instanceof TypeError) || !/^bytes=0-\d+$/.test(headers.range ?? ''))
                throw error;
            const { range: _, ...whole } = headers;
            return this.#fetch(url, { ...init, headers: whole });
        }
    }
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
export function isAbroad(url) {
    const origin = pageOrigin();
    return origin !== undefined && !url.startsWith(`${origin}/`);
}
export function pageOrigin() {
    return globalThis.location?.origin;
}
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
export function discard(response) {
    response.body?.cancel().catch(() => { });
}
