// What a read gave, as numbers that can be painted.

import { floats } from './gridhold/index.js';

const shortFloat = /^(b?float16|float[468]_)/;

/** Whether arrays of a data type can be shown as pictures. */
export function isNumeric(dtype) {
  return /^(numpy\.)?(bool|u?int\d+|b?float\d+|float[468]_.*|complex.*|datetime64|timedelta64|[<>|=]?[?buifcmM]\d*(\[.*\])?)$/.test(dtype);
}

/** The elements as numbers: of complex ones how large they are, of 64-bit integers what a double holds. */
export function numbersOf(array) {
  const { data, dtype } = array;
  if (shortFloat.test(dtype) && !(data instanceof Float32Array)) return data.constructor.name === 'Float16Array' ? Float32Array.from(data) : floats(array);
  if (data instanceof BigInt64Array || data instanceof BigUint64Array) return Float64Array.from(data, Number);
  if (dtype.startsWith('complex')) {
    const sizes = new Float32Array(data.length / 2);
    for (let i = 0; i < sizes.length; i++) sizes[i] = Math.hypot(data[2 * i], data[2 * i + 1]);
    return sizes;
  }
  return data;
}
