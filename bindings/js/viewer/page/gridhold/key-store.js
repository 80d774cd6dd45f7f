// Stores of frames under keys, by the names of python-blosc2.
import { ContainerRead, Kind } from './abi.js';
import { Container, Core, json } from './container.js';
import { ClosedError, NotFoundError } from './errors.js';
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
    /** Sets one of the metadata of a node, which need not have any. All of them are replaced in one step, under the tree's lock if it has one. */
    setVlmeta(path, name, value, options) {
        return this.#changeVlmeta(path, (found) => { found[name] = value; }, options);
    }
    /** Rejects with NotFoundError. */
    deleteVlmeta(path, name, options) {
        return this.#changeVlmeta(path, (found) => {
            if (!Object.hasOwn(found, name))
                throw new NotFoundError(`${path}: no metadata ${name}`, { item: name });
            delete found[name];
        }, options);
    }
    #changeVlmeta(path, change, options) {
        return this.holdingLock(async (held) => {
            const found = await held.getVlmeta(path, options);
            change(found);
            const frame = new SChunk(await inMemory(this.core.gridhold, options));
            try {
                for (const [name, value] of Object.entries(found))
                    await frame.vlmeta.set(name, value, options);
                await held.put(`${rooted(path).replace(/\/+$/, '')}/__vlmeta__`, frame, options);
            }
            finally {
                await frame.close();
            }
        }, options);
    }
}
// Names in the guest's memory, where what is closed stays: those of closed ones are given again.
const names = [];
let serial = 0;
/** A sequence without chunks in the guest's memory, which goes with it. */
function inMemory(gridhold, { signal } = {}) {
    const name = names.pop() ?? `vlmeta${serial++}`;
    const text = json({ kind: 'schunk', typesize: 1, chunksize: 0, fs: 0, name, replace: true });
    const request = new Uint8Array(4 + text.length);
    new DataView(request.buffer).setUint32(0, text.length, true);
    request.set(text, 4);
    let made = false;
    return Core.open(gridhold, name, async () => {
        if (made)
            throw new ClosedError(`${name}: it ended with the guest that had it`);
        made = true;
        return { kind: Kind.containerCreate, request };
    }, () => names.push(name), signal);
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
