import { UnsupportedError } from './errors.js';
const sizes = new Map(Object.entries({
    bool: 1, int2: 1, int4: 1, int8: 1, int16: 2, int32: 4, int64: 8, uint2: 1, uint4: 1, uint8: 1, uint16: 2, uint32: 4, uint64: 8,
    bfloat16: 2, float16: 2, float32: 4, float64: 8, complex64: 8, complex128: 16, 'numpy.datetime64': 8, 'numpy.timedelta64': 8,
    string: 0, bytes: 0, variable_length_bytes: 0,
}));
export function dataType(json) {
    const { name, configuration = {} } = typeof json === 'string' ? { name: json } : json;
    if (name === 'struct')
        return struct(name, configuration.fields);
    const itemSize = configuration.length_bytes ?? sizes.get(name) ?? sizeInName(name);
    if (itemSize === undefined)
        throw new UnsupportedError(`data type ${name}`, { item: 'data_type' });
    if (!name.startsWith('numpy.'))
        return { name, itemSize };
    return { name, itemSize, unit: configuration.unit, scale: configuration.scale_factor };
}
function sizeInName(name) {
    const bits = /^r(\d+)$/.exec(name)?.[1];
    if (bits !== undefined)
        return Number(bits) / 8;
    return /^float[468]_/.test(name) ? 1 : undefined;
}
function struct(name, members) {
    let offset = 0;
    const fields = members.map((member) => {
        const dtype = dataType(member.data_type);
        const field = { name: member.name, dtype, offset };
        offset += dtype.itemSize;
        return field;
    });
    return { name, itemSize: offset, fields };
}
