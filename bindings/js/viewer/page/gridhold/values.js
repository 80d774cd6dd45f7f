import { CorruptError, InvalidError, UnsupportedError } from './errors.js';
const float16 = globalThis.Float16Array;
const views = {
    int2: Int8Array,
    int4: Int8Array,
    int8: Int8Array,
    int16: Int16Array,
    uint16: Uint16Array,
    int32: Int32Array,
    uint32: Uint32Array,
    int64: BigInt64Array,
    uint64: BigUint64Array,
    bfloat16: Uint16Array,
    float16: float16 ?? Uint16Array,
    float32: Float32Array,
    float64: Float64Array,
    complex64: Float32Array,
    complex128: Float64Array,
    'numpy.datetime64': BigInt64Array,
    'numpy.timedelta64': BigInt64Array,
};
export function ndArray(bytes, shape, type) {
    return { data: elements(bytes, type), bytes, shape, dtype: type.name, type };
}
function elements(bytes, type) {
    const view = views[type.name];
    if (view !== undefined)
        return new view(bytes.buffer);
    switch (type.name) {
        case 'string':
            return pieces(bytes).map((piece) => utf8.decode(piece));
        case 'bytes':
        case 'variable_length_bytes':
            return pieces(bytes);
        case 'fixed_length_utf32':
            return texts(new Uint32Array(bytes.buffer), type.itemSize / 4);
    }
    return bytes;
}
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });
function pieces(bytes) {
    const v = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const out = [];
    for (let at = 0; at < bytes.length;) {
        const end = at + 4 + v.getUint32(at, true);
        out.push(bytes.subarray(at + 4, end));
        at = end;
    }
    return out;
}
function texts(points, length) {
    return Array.from({ length: points.length / length }, (_, i) => {
        let end = (i + 1) * length;
        while (end > i * length && points[end - 1] === 0)
            end--;
        let text = '';
        for (const point of points.subarray(i * length, end)) {
            if (point > 0x10ffff)
                throw new CorruptError(`0x${point.toString(16)} is no code point`, { item: `element ${i}` });
            text += String.fromCodePoint(point);
        }
        return text;
    });
}
export function field(array, name) {
    const { itemSize, fields } = array.type;
    const found = fields?.find((f) => f.name === name);
    if (found === undefined)
        throw new InvalidError(`${array.dtype} has no field ${JSON.stringify(name)}`, { item: name });
    const size = found.dtype.itemSize;
    const out = new Uint8Array((array.bytes.length / itemSize) * size);
    for (let from = found.offset, to = 0; to < out.length; from += itemSize, to += size) {
        out.set(array.bytes.subarray(from, from + size), to);
    }
    return ndArray(out, [...array.shape], found.dtype);
}
export function checkByteOrder() {
    if (new Uint8Array(new Uint16Array([1]).buffer)[0] !== 1) {
        throw new UnsupportedError('big-endian machines are not supported');
    }
}
