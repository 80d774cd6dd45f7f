// Stores of frames under keys, by the names of python-blosc2.
import { ContainerRead, Kind } from './abi.js';
import { Container, json } from './container.js';
import { NotFoundError } from './errors.js';
import { Frame, NDArray, SChunk } from './frame.js';
import { decode } from './msgpack.js';
/** Frames under keys. */
export class KeyStore extends Container {
    /** The keys, sorted; of a tree those of inner nodes too. */
    keys(options) {
        return this.core.do({ do: 'keys' }, options);
    }
    /** Opens what lies under a key; it is closed with the store. Rejects with NotFoundError. */
    async get(key, options) {
        return opened(await this.core.leaf(rooted(key), false, options));
    }
    /** Stores a copy of a frame. */
    async put(key, frame, { signal } = {}) {
        const guest = await this.core.gridhold.guest();
        const deed = { container: await this.core.on(guest), do: 'put', key: rooted(key), from: await frame.core.on(guest) };
        await guest.run(Kind.containerDo, json(deed), signal);
    }
    /** Rejects with NotFoundError. */
    async delete(key, options) {
        await this.core.do({ do: 'delete', key: rooted(key) }, options);
    }
}
/** Frames under keys, in the bytes of one frame. */
export class EmbedStore extends KeyStore {
}
/** Frames under keys: small ones embedded, the others files of their own, in a directory or a zip. */
export class DictStore extends KeyStore {
    /** Writes it as a zip, which appears in one step. */
    async toB2z(target, options = {}) {
        const { systems } = this.core.gridhold;
        const fs = systems.acquire(target.files);
        try {
            await this.core.do({ do: 'to_b2z', fs, name: target.name, overwrite: options.overwrite ?? false }, options);
        }
        finally {
            systems.release(fs);
        }
    }
}
/** A DictStore whose keys are paths. */
export class TreeStore extends DictStore {
    /** The names of the nodes right below a node. */
    getChildren(path = '/', options) {
        return this.core.do({ do: 'children', key: rooted(path) }, options);
    }
    /** The metadata of a node; none if it has none. */
    async getVlmeta(path = '/', options) {
        let leaf;
        try {
            leaf = await this.core.leaf(rooted(path), true, options);
        }
        catch (error) {
            if (error instanceof NotFoundError)
                return {};
            throw error;
        }
        const found = {};
        for (const name of leaf.state.vlmeta)
            found[name] = decode(await leaf.read(ContainerRead.vlmeta, [], options, name));
        await leaf.close();
        return found;
    }
}
function rooted(key) {
    return key.startsWith('/') ? key : `/${key}`;
}
/** @internal The class that goes with a kind. */
export function opened(core) {
    switch (core.state.kind) {
        case 'ndarray': return new NDArray(core);
        case 'embedstore': return new EmbedStore(core);
        case 'dictstore': return new DictStore(core);
        case 'treestore': return new TreeStore(core);
    }
    return new SChunk(core);
}
