import { ContainerRead, Kind } from './abi.js';
import { Container, Core, json } from './container.js';
import { ClosedError, NotFoundError } from './errors.js';
import { Frame, NDArray, SChunk } from './frame.js';
import { decode } from './msgpack.js';
export class KeyStore extends Container {
    keys(options) {
        return this.core.do({ do: 'keys' }, options);
    }
    async get(key, options) {
        return opened(await this.core.leaf(rooted(key), false, options));
    }
    async put(key, frame, { signal } = {}) {
        const guest = await this.core.gridhold.guest();
        const deed = { container: await this.core.on(guest), do: 'put', key: rooted(key), from: await frame.core.on(guest) };
        await guest.run(Kind.containerDo, json(deed), signal);
    }
    async delete(key, options) {
        await this.core.do({ do: 'delete', key: rooted(key) }, options);
    }
}
export class EmbedStore extends KeyStore {
}
export class DictStore extends KeyStore {
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
export class TreeStore extends DictStore {
    getChildren(path = '/', options) {
        return this.core.do({ do: 'children', key: rooted(path) }, options);
    }
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
    setVlmeta(path, name, value, options) {
        return this.#changeVlmeta(path, (found) => { found[name] = value; }, options);
    }
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
const names = [];
let serial = 0;
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
export function opened(core) {
    switch (core.state.kind) {
        case 'ndarray': return new NDArray(core);
        case 'embedstore': return new EmbedStore(core);
        case 'dictstore': return new DictStore(core);
        case 'treestore': return new TreeStore(core);
    }
    return new SChunk(core);
}
