// A file that a user chose, as a store: for containers in pages.
/** The name under which a `File` or `Blob` is opened. */
export function blobName(blob) {
    return blob.name || 'blob';
}
/** A store of one object, under any key: a `File` or `Blob`. */
export function blobStore(blob) {
    return {
        async read(_key, ranges) {
            const data = await Promise.all(ranges.map(async (range) => {
                const from = 'suffix' in range ? Math.max(0, blob.size - range.suffix) : range.offset;
                const to = 'suffix' in range || range.length === undefined ? blob.size : range.offset + range.length;
                return new Uint8Array(await blob.slice(from, to).arrayBuffer());
            }));
            return { data, size: blob.size, version: '1' }; // it cannot change
        },
    };
}
