// Bytes of the guest's as values. The guest gives C order, little endian,
// which is what typed arrays of every engine in use are made of.

import type { DataType } from './dtype.js';
import { CorruptError, InvalidError, UnsupportedError } from './errors.js';

/** A typed array that holds decoded elements. */
export type TypedArray =
  | Int8Array
  | Uint8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array
  | Float32Array
  | Float64Array;

/** Decoded elements in C order. They belong to the caller. */
export interface NdArray {
  /**
   * By data type:
   *
   * - numbers: the typed array of that name. 64-bit integers are BigInts,
   *   `bool` is one byte an element, int2 and int4 lie in an Int8Array, uint2
   *   and uint4 in a Uint8Array; `float16` is a Float16Array where the engine
   *   has one and its bits in a Uint16Array where not; complex numbers lie as
   *   re, im, so twice as many;
   * - `bfloat16` and the floats of at most 8 bits: their bits, in a
   *   Uint16Array or Uint8Array; `floats` reads them;
   * - datetimes and timedeltas: a BigInt64Array of counts, see `type.unit`;
   * - `string` and `fixed_length_utf32`: strings;
   * - byte strings of any length: a Uint8Array each, all over `bytes`;
   * - what is left (byte strings of one length, raw bits, structs): one
   *   Uint8Array with `type.itemSize` bytes an element; `field` takes a field
   *   out of structs.
   */
  data: TypedArray | string[] | Uint8Array[];
  /**
   * All elements as bytes: as `data` has them in memory, and those of no
   * fixed length each as its length, 32 bits, little endian, and its bytes.
   */
  bytes: Uint8Array<ArrayBuffer>;
  shape: number[];
  /** The name of the data type. */
  dtype: string;
  /** The data type with lengths, units and fields. */
  type: DataType;
}

type View = new (buffer: ArrayBuffer) => TypedArray;

const float16 = (globalThis as { Float16Array?: unknown }).Float16Array as View | undefined;

const views: Record<string, View> = {
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

/** Makes elements of bytes, which it takes over: all of a buffer. Throws CorruptError for a code point that is none. */
export function ndArray(bytes: Uint8Array<ArrayBuffer>, shape: number[], type: DataType): NdArray {
  return { data: elements(bytes, type), bytes, shape, dtype: type.name, type };
}

function elements(bytes: Uint8Array<ArrayBuffer>, type: DataType): NdArray['data'] {
  const view = views[type.name];
  if (view !== undefined) return new view(bytes.buffer);
  switch (type.name) {
    case 'string':
      return pieces(bytes).map((piece) => utf8.decode(piece));
    case 'bytes':
    case 'variable_length_bytes':
      return pieces(bytes);
    case 'fixed_length_utf32':
      return texts(new Uint32Array(bytes.buffer), type.itemSize / 4);
  }
  return bytes; // bool too, and all that JavaScript has no array for
}

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true }); // a mark at the start of an element belongs to it

/** Takes elements with their lengths apart. */
function pieces(bytes: Uint8Array): Uint8Array[] {
  const v = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const out: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = at + 4 + v.getUint32(at, true);
    out.push(bytes.subarray(at + 4, end));
    at = end;
  }
  return out;
}

/** Strings of `length` code points each, without the zeros at their ends. */
function texts(points: Uint32Array, length: number): string[] {
  return Array.from({ length: points.length / length }, (_, i) => {
    let end = (i + 1) * length;
    while (end > i * length && points[end - 1] === 0) end--;
    let text = '';
    for (const point of points.subarray(i * length, end)) {
      if (point > 0x10ffff) throw new CorruptError(`0x${point.toString(16)} is no code point`, { item: `element ${i}` });
      text += String.fromCodePoint(point);
    }
    return text;
  });
}

/** A field of an array of structs, as an array of its own. Throws InvalidError where there is no such field. */
export function field(array: NdArray, name: string): NdArray {
  const { itemSize, fields } = array.type;
  const found = fields?.find((f) => f.name === name);
  if (found === undefined) throw new InvalidError(`${array.dtype} has no field ${JSON.stringify(name)}`, { item: name });
  const size = found.dtype.itemSize;
  const out = new Uint8Array((array.bytes.length / itemSize) * size);
  for (let from = found.offset, to = 0; to < out.length; from += itemSize, to += size) {
    out.set(array.bytes.subarray(from, from + size), to);
  }
  return ndArray(out, [...array.shape], found.dtype);
}

/** Throws UnsupportedError on a machine whose typed arrays are big endian. */
export function checkByteOrder(): void {
  if (new Uint8Array(new Uint16Array([1]).buffer)[0] !== 1) {
    throw new UnsupportedError('big-endian machines are not supported');
  }
}
