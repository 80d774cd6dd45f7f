import { blobStore } from './blob-store.js';
import { objectAt } from './store.js';
export function placeOf(pack) {
    if (typeof pack === 'string' || pack instanceof URL)
        return objectAt(pack);
    if (pack instanceof Blob)
        return { store: blobStore(pack), key: 'pack' };
    if (pack instanceof Uint8Array)
        return { store: blobStore(new Blob([pack])), key: 'pack' };
    return pack;
}
