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
        this.#slot = { guest: undefined, id: 0, closed: false, release };
    }
    /** Closes the thing when `owner` is garbage. */
    ownedBy(owner) {
        forgotten.register(owner, this.#slot, this.#slot);
    }
    /** Its number on an instance, at once where it is there already. Throws or rejects with ClosedError after `close`. */
    on(guest) {
        const slot = this.#slot;
        if (slot.closed)
            throw new ClosedError(`${this.#what}: closed`);
        if (slot.guest === guest)
            return slot.id;
        slot.guest = guest;
        const made = this.#recipe(guest);
        slot.id = made;
        made.then((id) => {
            if (slot.id === made)
                slot.id = id;
        }, () => {
            if (slot.id === made)
                slot.guest = undefined; // the next caller tries again
        });
        return made;
    }
    get closed() {
        return this.#slot.closed;
    }
    /** Closes it and waits for that. */
    async closeNow() {
        const slot = this.#slot;
        forgotten.unregister(slot);
        slot.closed = true;
        const { guest, id } = slot;
        try {
            const request = new Uint8Array(4);
            new DataView(request.buffer).setUint32(0, await id, true);
            if (guest?.usable)
                await guest.run(Kind.close, request);
        }
        catch (error) {
            if (!(error instanceof ClosedError))
                throw error; // it was closed with what it lies in
        }
        finally {
            slot.release();
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
    const { guest, id } = slot;
    const done = async () => {
        const request = new Uint8Array(4);
        new DataView(request.buffer).setUint32(0, await id, true);
        await guest?.run(Kind.close, request);
    };
    // Whatever fails here, the thing is gone: its instance is, or it was never made.
    done().catch(() => { }).finally(slot.release);
}
