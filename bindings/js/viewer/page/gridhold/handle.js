// A thing that lives in an instance, with the recipe by which it was made.
// Instances die; a handle then makes its thing again on the next one.
import { Kind } from './abi.js';
import { ClosedError } from './errors.js';
// Neither slot nor recipe may refer to the owner, or it would never be forgotten.
const forgotten = new FinalizationRegistry(close);
export class Handle {
    #what;
    #recipe;
    #slot;
    /** `what` names the thing in errors; `release` is called once, when it is closed or forgotten. */
    constructor(what, recipe, release = () => { }) {
        this.#what = what;
        this.#recipe = recipe;
        this.#slot = { made: new Map(), closed: false, release };
    }
    /** Closes the thing when `owner` is garbage. */
    ownedBy(owner) {
        forgotten.register(owner, this.#slot, this.#slot);
    }
    /** Its number on an instance, at once where it is there already. Throws or rejects with ClosedError after `close`. */
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
                made.delete(guest); // the next caller tries again
        });
        return making;
    }
    /** The instances where it is. */
    get guests() {
        return [...this.#slot.made.keys()].filter((guest) => guest.usable);
    }
    get closed() {
        return this.#slot.closed;
    }
    /** Closes it and waits for that. */
    async closeNow() {
        forgotten.unregister(this.#slot);
        this.#slot.closed = true;
        try {
            await ending(this.#slot);
        }
        catch (error) {
            if (!(error instanceof ClosedError))
                throw error; // it was closed with what it lies in
        }
        finally {
            this.#slot.release();
        }
    }
    /** Twice is fine. */
    close() {
        forgotten.unregister(this.#slot);
        close(this.#slot);
    }
}
function close(slot) {
    if (slot.closed)
        return;
    slot.closed = true;
    // Whatever fails here, the thing is gone: its instance is, or it was never made.
    ending(slot).catch(() => { }).finally(slot.release);
}
/** Closes it wherever it is. */
async function ending(slot) {
    await Promise.all([...slot.made].map(async ([guest, id]) => {
        const request = new Uint8Array(4);
        new DataView(request.buffer).setUint32(0, await id, true);
        if (guest.usable)
            await guest.run(Kind.close, request);
    }));
}
/** Waits for what others may wait for too, until the signal. */
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
