// What can be seen as a plane of pixels: Zarr arrays, pyramids of them, and
// Blosc2 arrays. Each becomes levels that read parts of planes, finest first.

import { isNumeric, numbersOf } from './numbers.js';

const MOST_CHANNELS = 8; // beyond, they are slices
const TILE = 256; // pixels of a tile along an axis, about

/**
 * A source has `axes` ({ name, unit }), the axes `y`, `x` and `channel` (-1: none), `channels`
 * ({ name, colour, window }), and `levels`: `shape`; `tile`, the pixels of a tile; `scale`, how many pixels of the
 * finest level one of its own is high and wide; `shift`, where its first lies; `read(start, stop, signal)`, numbers.
 */

/** A Zarr array by itself. */
export function arraySource(array, shardCache) {
  refuseOthers(array.dtype);
  const names = array.info.dimension_names ?? [];
  const axes = array.shape.map((_, i) => ({ name: names[i] ?? `axis ${i}` }));
  return { axes, ...pick(axes, array.shape), levels: [zarrLevel(array, shardCache)], channels: channelsOf(array.attributes) };
}

/** A pyramid of an OME-Zarr group; `arrays` are its levels, opened. */
export function pyramidSource(multiscale, arrays, caches, attributes) {
  refuseOthers(arrays[0].dtype);
  const { axes } = multiscale;
  const source = { axes, ...pick(axes, arrays[0].shape), channels: channelsOf(attributes) };
  source.levels = arrays.map((array, i) => {
    const level = zarrLevel(array, caches[i]);
    const [finest, own] = [multiscale.levels[0], multiscale.levels[i]];
    for (const [k, axis] of [source.y, source.x].entries()) {
      if (axis < 0) continue;
      const [s0, s] = [finest.scale?.[axis], own.scale?.[axis]];
      level.scale[k] = s0 > 0 && s > 0 ? s / s0 : arrays[0].shape[axis] / array.shape[axis];
      level.shift[k] = s0 > 0 ? ((own.translation?.[axis] ?? 0) - (finest.translation?.[axis] ?? 0)) / s0 : 0;
      // Pixels lie around their points: the first of a coarser level begins where the finest does.
      if (own.translation !== undefined) level.shift[k] -= (level.scale[k] - 1) / 2;
    }
    return level;
  });
  return source;
}

/** A Blosc2 array; its level grows with it. */
export function containerSource(array) {
  refuseOthers(array.dtype);
  const axes = array.shape.map((_, i) => ({ name: `axis ${i}` }));
  return {
    axes,
    ...pick(axes, array.shape, -1),
    channels: [],
    levels: [{
      get shape() { return array.shape; },
      inner: array.chunks, // a part of one is read by many small ranges
      scale: [1, 1],
      shift: [0, 0],
      read: async (start, stop, signal) => numbersOf(await array.slice(start.map((from, i) => ({ start: from, stop: stop[i] })), { signal })),
    }],
  };
}

function zarrLevel(array, shardCache) {
  return {
    shape: array.shape,
    inner: array.effectiveSubchunkShape ?? array.shape.map(() => TILE),
    scale: [1, 1],
    shift: [0, 0],
    read: async (start, stop, signal) => numbersOf(await array.retrieveRegion(start, stop, { shardCache, signal })),
  };
}

/** Pixels of a tile along an axis: whole chunks, about 256. */
export function tileLength(level, axis) {
  const n = level.inner[axis] || TILE;
  return n > 4 * TILE ? 2 * TILE : n * Math.max(1, Math.round(TILE / n));
}

/** Which axes are seen: by their names, else the last two; and which one has channels. */
function pick(axes, shape, channel = axes.findIndex((a) => a.type === 'channel' || a.name === 'c')) {
  const named = (name) => axes.findIndex((a) => a.name.toLowerCase() === name);
  let [y, x] = [named('y'), named('x')];
  if (y < 0 || x < 0) [y, x] = [axes.length - 2, axes.length - 1];
  if (channel === y || channel === x || !(shape[channel] <= MOST_CHANNELS)) channel = -1;
  return { y: Math.max(y, -1), x, channel };
}

/** How channels are named and shown, as OMERO's metadata has it. */
function channelsOf(attributes) {
  const { channels = [] } = attributes?.ome?.omero ?? attributes?.omero ?? {};
  return channels.map((c) => ({
    name: c.label,
    colour: /^[0-9a-f]{6}$/i.test(c.color ?? '') ? `#${c.color}` : undefined,
    window: Number.isFinite(c.window?.start) && Number.isFinite(c.window?.end) ? [c.window.start, c.window.end] : undefined,
    off: c.active === false,
  }));
}

function refuseOthers(dtype) {
  if (!isNumeric(dtype)) throw new Error(`elements of type ${dtype} are no pixels`);
}
