import { dataType } from './dtype.js';
const kinds = new Map(Object.entries({
    b1: 'bool', i1: 'int8', i2: 'int16', i4: 'int32', i8: 'int64', u1: 'uint8', u2: 'uint16', u4: 'uint32', u8: 'uint64',
    f2: 'float16', f4: 'float32', f8: 'float64', c8: 'complex64', c16: 'complex128',
}));
export function numpyType(text, itemSize) {
    const code = text.replace(/^[<>|=]/, '');
    const name = kinds.get(code);
    if (name !== undefined)
        return dataType(name);
    const time = /^([Mm])8(?:\[([1-9]\d{0,9})?([A-Za-zμ]+)\])?$/.exec(code);
    if (time !== null) {
        const [, kind, scale, unit] = time;
        return {
            name: kind === 'M' ? 'numpy.datetime64' : 'numpy.timedelta64',
            itemSize,
            unit: unit ?? 'generic',
            scale: scale ? Number(scale) : 1,
        };
    }
    if (/^U\d+$/.test(code))
        return { name: 'fixed_length_utf32', itemSize };
    if (/^S\d+$/.test(code))
        return { name: 'null_terminated_bytes', itemSize };
    return { name: `r${8 * itemSize}`, itemSize };
}
const codes = new Map([...kinds].map(([code, name]) => [name, code]));
export function numpyCode(name) {
    const code = codes.get(name);
    if (code === undefined)
        return name;
    return (code.endsWith('1') && code !== 'i16' ? '|' : '<') + code;
}
