// Data types as metadata has them, with sizes and offsets worked out.

import { UnsupportedError } from './errors.js';

/** A data type as Zarr v3 metadata spells it; types of Zarr v2 come under the names of v3. */
export type DataTypeJson = string | { name: string; configuration?: Record<string, unknown> };

/** The data type of an array's elements. */
export interface DataType {
  /** `"uint16"`, `"numpy.datetime64"`, `"struct"`. */
  name: string;
  /** Bytes of an element; 0 where elements differ in length. */
  itemSize: number;
  /** Of times: `"ns"`, `"D"`, … or `"generic"`. An element counts `scale` of them; the smallest number is "not a time". */
  unit?: string;
  scale?: number;
  /** Of structs, in the order in which they lie, without gaps. */
  fields?: Field[];
}

/** A field of a struct. */
export interface Field {
  name: string;
  dtype: DataType;
  /** In bytes, from the start of the element. */
  offset: number;
}

const sizes = new Map(Object.entries({
  bool: 1, int2: 1, int4: 1, int8: 1, int16: 2, int32: 4, int64: 8, uint2: 1, uint4: 1, uint8: 1, uint16: 2, uint32: 4, uint64: 8,
  bfloat16: 2, float16: 2, float32: 4, float64: 8, complex64: 8, complex128: 16, 'numpy.datetime64': 8, 'numpy.timedelta64': 8,
  string: 0, bytes: 0, variable_length_bytes: 0,
}));

/** Reads a data type. Throws UnsupportedError for one that is not known here. */
export function dataType(json: DataTypeJson): DataType {
  const { name, configuration = {} } = typeof json === 'string' ? { name: json } : json;
  if (name === 'struct') return struct(name, configuration.fields as { name: string; data_type: DataTypeJson }[]);
  const itemSize = (configuration.length_bytes as number | undefined) ?? sizes.get(name) ?? sizeInName(name);
  if (itemSize === undefined) throw new UnsupportedError(`data type ${name}`, { item: 'data_type' });
  if (!name.startsWith('numpy.')) return { name, itemSize };
  return { name, itemSize, unit: configuration.unit as string, scale: configuration.scale_factor as number };
}

/** Of raw bits, `r24`, and of the formats of at most eight bits, `float8_e4m3fn`. */
function sizeInName(name: string): number | undefined {
  const bits = /^r(\d+)$/.exec(name)?.[1];
  if (bits !== undefined) return Number(bits) / 8;
  return /^float[468]_/.test(name) ? 1 : undefined;
}

function struct(name: string, members: { name: string; data_type: DataTypeJson }[]): DataType {
  let offset = 0;
  const fields = members.map((member) => {
    const dtype = dataType(member.data_type);
    const field = { name: member.name, dtype, offset };
    offset += dtype.itemSize;
    return field;
  });
  return { name, itemSize: offset, fields };
}
