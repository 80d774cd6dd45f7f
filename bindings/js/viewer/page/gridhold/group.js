export class GridGroup {
    #gridhold;
    #source;
    #handle;
    #options;
    info;
    constructor(gridhold, source, handle, info, options) {
        this.#gridhold = gridhold;
        this.#source = source;
        this.#handle = handle;
        this.info = info;
        this.#options = options;
        handle.ownedBy(this);
    }
    get path() {
        return this.info.path;
    }
    get attributes() {
        return this.info.attributes ?? {};
    }
    get multiscales() {
        return this.info.multiscales ?? [];
    }
    list(options = {}) {
        return this.#gridhold.list(this.#source, this.#at(this.path, options.signal));
    }
    open(path, options = {}) {
        return this.#gridhold.open(this.#source, this.#at(this.path === '' ? path : `${this.path}/${path}`, options.signal));
    }
    close() {
        this.#handle.close();
    }
    [Symbol.dispose]() {
        this.close();
    }
    #at(path, signal) {
        return { ...this.#options, path, signal };
    }
}
