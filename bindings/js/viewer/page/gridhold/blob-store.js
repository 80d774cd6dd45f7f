export function blobName(blob) {
    return blob.name || 'blob';
}
export function blobStore(blob) {
    return {
        async read(_key, ranges) {
            const data = await Promise.all(ranges.map(async (range) => {
                const from = 'suffix' in range ? Math.max(0, blob.size - range.suffix) : range.offset;
                const to = 'suffix' in range || range.length === undefined ? blob.size : range.offset + range.length;
                return new Uint8Array(await blob.slice(from, to).arrayBuffer());
            }));
            return { data, size: blob.size, version: '1' };
        },
    };
}
