import { ClosedError } from './errors.js';
import { platform } from './platform.js';
import { RemoteGuest } from './remote-guest.js';
export class Pool {
    #start;
    #outside;
    #guests = [];
    #closed = false;
    constructor(n, start, outside) {
        this.#start = start;
        this.#outside = outside;
        for (let at = 0; at < n; at++)
            this.#begin(at);
    }
    static async start(n, start, outside) {
        const pool = new Pool(n, start, outside);
        try {
            await Promise.all(pool.#guests);
            return pool;
        }
        catch (error) {
            pool.close();
            throw error;
        }
    }
    get size() {
        return this.#guests.length;
    }
    get memorySize() {
        return this.#guests.reduce((n, guest) => n + (guest instanceof RemoteGuest ? guest.memorySize : 0), 0);
    }
    runner(shard) {
        if (this.#closed)
            throw new ClosedError('gridhold: closed');
        const at = shard === undefined ? this.#idlest() : spread(shard) % this.size;
        const guest = this.#guests[at];
        return guest === undefined || (guest instanceof RemoteGuest && !guest.usable) ? this.#begin(at) : guest;
    }
    close() {
        this.#closed = true;
        for (const guest of this.#guests)
            Promise.resolve(guest).then((started) => started?.close(), () => { });
    }
    #begin(at) {
        const starting = RemoteGuest.start(spawn(), this.#start, this.#outside);
        this.#guests[at] = starting;
        const now = (guest) => {
            if (this.#guests[at] === starting)
                this.#guests[at] = guest;
        };
        starting.then(now, () => now(undefined));
        return starting;
    }
    #idlest() {
        const busy = this.#guests.map((guest) => (guest instanceof RemoteGuest ? guest.busy : 0));
        return busy.indexOf(Math.min(...busy));
    }
}
function spread(numbers) {
    return numbers.reduce((hash, n) => Math.imul(hash ^ n, 0x01000193) >>> 0, 0x811c9dc5);
}
function spawn() {
    if (platform.worker !== undefined)
        return platform.worker();
    const worker = new Worker(new URL('./pool-worker.js', import.meta.url), { type: 'module' });
    return {
        send: (message, transfer = []) => worker.postMessage(message, transfer),
        listen(hear, broken) {
            worker.onmessage = ({ data }) => hear(data);
            worker.onerror = (event) => broken(new Error(event.message || 'it could not be loaded'));
        },
        end: () => worker.terminate(),
        hold: () => { },
    };
}
