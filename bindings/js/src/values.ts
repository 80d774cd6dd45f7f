// Bytes of the guest's as typed arrays. The guest gives C order, little
// endian, which is what typed arrays of every engine in use are made of.

import { UnsupportedError } from './errors.js';

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
   * `bool` is one byte an element; 64-bit integers are BigInts; `float16` is
   * a Float16Array where the engine has one and its raw bits in a Uint16Array
   * where not; complex numbers lie as re, im, so twice as many; types that
   * JavaScript has no array for are raw bytes.
   */
  data: TypedArray;
  shape: number[];
  /** The array's data type, as in its metadata. */
  dtype: string;
}

type View = new (buffer: ArrayBuffer) => TypedArray;

const float16 = (globalThis as { Float16Array?: unknown }).Float16Array as View | undefined;

const views: Record<string, View> = {
  bool: Uint8Array,
  int8: Int8Array,
  uint8: Uint8Array,
  int16: Int16Array,
  uint16: Uint16Array,
  int32: Int32Array,
  uint32: Uint32Array,
  int64: BigInt64Array,
  uint64: BigUint64Array,
  float16: float16 ?? Uint16Array,
  float32: Float32Array,
  float64: Float64Array,
  complex64: Float32Array,
  complex128: Float64Array,
};

/** Makes a typed array over bytes, which it takes over. */
export function typed(bytes: Uint8Array<ArrayBuffer>, dtype: string): TypedArray {
  const view = views[dtype];
  return view === undefined ? bytes : new view(bytes.buffer);
}

/** Throws UnsupportedError on a machine whose typed arrays are big endian. */
export function checkByteOrder(): void {
  if (new Uint8Array(new Uint16Array([1]).buffer)[0] !== 1) {
    throw new UnsupportedError('big-endian machines are not supported');
  }
}
