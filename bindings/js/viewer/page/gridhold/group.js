/** A group of nodes, opened by `Gridhold.openGroup` or `open`. */
export class GridGroup {
    #gridhold;
    #source;
    #handle;
    #options;
    /** The description, as `gridhold info --json` prints it. */
    info;
    /** @internal */
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
    /** The pyramids of an OME-Zarr group; none where it has none, or none that can be understood. */
    get multiscales() {
        return this.info.multiscales ?? [];
    }
    /** All nodes below it. Paths are those in the store. */
    list(options = {}) {
        return this.#gridhold.list(this.#source, this.#at(this.path, options.signal));
    }
    /** Opens a node below it by its path relative to the group, as the group was opened. Errors as of `Gridhold.openArray`. */
    open(path, options = {}) {
        return this.#gridhold.open(this.#source, this.#at(this.path === '' ? path : `${this.path}/${path}`, options.signal));
    }
    /** Twice is fine. */
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
