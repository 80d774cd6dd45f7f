// The memory of an instance, looked up anew at each use: after any export it
// may have grown, and views from before are then empty.
export class Memory {
    #buffer;
    #view = new DataView(new ArrayBuffer(0));
    #text = new TextDecoder();
    /** `buffer` gives the memory's buffer as it is now. */
    constructor(buffer) {
        this.#buffer = buffer;
    }
    get size() {
        return this.#buffer().byteLength;
    }
    /** Good until the next export, import or await. */
    view() {
        const buffer = this.#buffer();
        if (this.#view.buffer !== buffer)
            this.#view = new DataView(buffer); // the memory has grown
        return this.#view;
    }
    /** A window on the guest, as short-lived. Throws RangeError where it does not lie in the memory. */
    bytes(ptr, len) {
        return new Uint8Array(this.#buffer(), ptr, len);
    }
    u32(at) {
        return this.view().getUint32(at, true);
    }
    /** A copy, as UTF-8. */
    text(ptr, len) {
        return len === 0 ? '' : this.#text.decode(this.bytes(ptr, len));
    }
}
