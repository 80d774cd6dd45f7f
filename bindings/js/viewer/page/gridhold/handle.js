import { Kind } from './abi.js';
import { ClosedError } from './errors.js';
const forgotten = new FinalizationRegistry(close);
export class Handle {
    #what;
    #recipe;
    #slot;
    constructor(what, recipe, release = () => { }) {
        this.#what = what;
        this.#recipe = recipe;
        this.#slot = { made: new Map(), closed: false, release };
    }
    ownedBy(owner) {
        forgotten.register(owner, this.#slot, this.#slot);
    }
    on(guest) {
        const { made, closed } = this.#slot;
        if (closed)
            throw new ClosedError(`${this.#what}: closed`);
        const there = made.get(guest);
        if (there !== undefined)
            return there;
        for (const other of made.keys())
            if (!other.usable)
                made.delete(other);
        const making = this.#recipe(guest);
        made.set(guest, making);
        making.then((id) => {
            if (made.get(guest) === making)
                made.set(guest, id);
        }, () => {
            if (made.get(guest) === making)
                made.delete(guest);
        });
        return making;
    }
    get guests() {
        return [...this.#slot.made.keys()].filter((guest) => guest.usable);
    }
    get closed() {
        return this.#slot.closed;
    }
    async closeNow() {
        forgotten.unregister(this.#slot);
        this.#slot.closed = true;
        try {
            await ending(this.#slot);
        }
        catch (error) {
            if (!(error instanceof ClosedError))
                throw error;
        }
        finally {
            this.#slot.release();
        }
    }
    close() {
        forgotten.unregister(this.#slot);
        close(this.#slot);
    }
}
function close(slot) {
    if (slot.closed)
        return;
    slot.closed = true;
    ending(slot).catch(() => { }).finally(slot.release);
}
async function ending(slot) {
    await Promise.all([...slot.made].map(async ([guest, id]) => {
        const request = new Uint8Array(4);
        new DataView(request.buffer).setUint32(0, await id, true);
        if (guest.usable)
            await guest.run(Kind.close, request);
    }));
}
export function abortable(promise, signal) {
    if (signal === undefined || !(promise instanceof Promise))
        return promise;
    return new Promise((resolve, reject) => {
        const leave = () => reject(signal.reason);
        if (signal.aborted)
            leave();
        signal.addEventListener('abort', leave, { once: true });
        promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
    });
}
