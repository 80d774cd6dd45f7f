const RAW = 1;
const PLACE = 24;
export function parts(answer, count) {
    const v = new DataView(answer.buffer, answer.byteOffset, answer.byteLength);
    let start = 8 * count;
    return Array.from({ length: count }, (_, i) => {
        const end = Number(v.getBigUint64(8 * i, true));
        const part = answer.slice(start, end);
        start = end;
        return part;
    });
}
export function places(answer) {
    const v = new DataView(answer.buffer, answer.byteOffset, answer.byteLength);
    const count = v.getUint32(0, true);
    const objects = [];
    const text = new TextDecoder();
    let at = 8 + PLACE * count;
    for (let n = v.getUint32(4, true); n > 0; n--) {
        const version = at + 8 + v.getUint32(at, true);
        const end = version + v.getUint32(at + 4, true);
        objects.push({ key: text.decode(answer.subarray(at + 8, version)), version: text.decode(answer.subarray(version, end)) });
        at = end;
    }
    return Array.from({ length: count }, (_, i) => {
        const place = 8 + PLACE * i;
        const offset = Number(v.getBigInt64(place, true));
        if (offset < 0)
            return undefined;
        const length = Number(v.getBigInt64(place + 8, true));
        const object = objects[v.getUint32(place + 16, true)];
        const raw = (v.getUint32(place + 20, true) & RAW) !== 0;
        return { ...object, offset, length: length < 0 ? undefined : length, raw };
    });
}
