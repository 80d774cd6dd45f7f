export class Memory {
    #buffer;
    #view = new DataView(new ArrayBuffer(0));
    #text = new TextDecoder();
    constructor(buffer) {
        this.#buffer = buffer;
    }
    get size() {
        return this.#buffer().byteLength;
    }
    view() {
        const buffer = this.#buffer();
        if (this.#view.buffer !== buffer)
            this.#view = new DataView(buffer);
        return this.#view;
    }
    bytes(ptr, len) {
        return new Uint8Array(this.#buffer(), ptr, len);
    }
    u32(at) {
        return this.view().getUint32(at, true);
    }
    text(ptr, len) {
        return len === 0 ? '' : this.#text.decode(this.bytes(ptr, len));
    }
}
