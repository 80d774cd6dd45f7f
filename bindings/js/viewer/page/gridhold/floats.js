import { InvalidError } from './errors.js';
const formats = new Map(Object.entries({
    float16: [5, 10, 15, 'ieee'],
    float8_e3m4: [3, 4, 3, 'ieee'],
    float8_e4m3: [4, 3, 7, 'ieee'],
    float8_e5m2: [5, 2, 15, 'ieee'],
    float8_e4m3fn: [4, 3, 7, 'nan'],
    float8_e4m3b11fnuz: [4, 3, 11, 'negative zero'],
    float8_e4m3fnuz: [4, 3, 8, 'negative zero'],
    float8_e5m2fnuz: [5, 2, 16, 'negative zero'],
    float6_e2m3fn: [2, 3, 1, 'finite'],
    float6_e3m2fn: [3, 2, 3, 'finite'],
    float4_e2m1fn: [2, 1, 1, 'finite'],
}));
export function floats(array) {
    const { dtype, bytes } = array;
    const codes = array.type.itemSize === 2 ? new Uint16Array(bytes.buffer) : bytes;
    if (dtype === 'bfloat16') {
        const wide = Uint32Array.from(codes, (code) => code << 16);
        return new Float32Array(wide.buffer);
    }
    const table = tableOf(dtype);
    return Float32Array.from(codes, (code) => table[code]);
}
const tables = new Map();
function tableOf(dtype) {
    let table = tables.get(dtype);
    if (table === undefined) {
        table = Float32Array.from({ length: dtype === 'float16' ? 65536 : 256 }, numbers(dtype));
        tables.set(dtype, table);
    }
    return table;
}
function numbers(dtype) {
    if (dtype === 'float8_e8m0fnu')
        return (_, code) => (code === 255 ? NaN : 2 ** (code - 127));
    const format = formats.get(dtype);
    if (format === undefined)
        throw new InvalidError(`${dtype} is no short float`, { item: 'data type' });
    const [exponentBits, mantissaBits, bias, top] = format;
    return (_, code) => {
        const mantissas = 2 ** mantissaBits;
        const mantissa = code % mantissas;
        const exponent = Math.floor(code / mantissas) % 2 ** exponentBits;
        const sign = Math.floor(code / mantissas / 2 ** exponentBits) % 2 === 1 ? -1 : 1;
        if (exponent === 2 ** exponentBits - 1) {
            if (top === 'ieee')
                return mantissa === 0 ? sign * Infinity : NaN;
            if (top === 'nan' && mantissa === mantissas - 1)
                return NaN;
        }
        if (exponent > 0)
            return sign * (mantissas + mantissa) * 2 ** (exponent - bias - mantissaBits);
        if (top === 'negative zero' && sign < 0 && mantissa === 0)
            return NaN;
        return sign * mantissa * 2 ** (1 - bias - mantissaBits);
    };
}
