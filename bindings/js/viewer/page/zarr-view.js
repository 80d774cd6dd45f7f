// A Zarr array, or a group: its pyramid, or what it says of itself.

import { el, facts } from './dom.js';
import { isNumeric } from './numbers.js';
import { PlaneView } from './plane-view.js';
import { arraySource, pyramidSource } from './sources.js';

/** Opens what `source` (an address, or `zip://` and that of an archive) is, and shows it in `place`. */
export async function showZarr(gridhold, source, place, { meter, signal, title }) {
  const node = await gridhold.open(source, { trace: true, signal });
  const opened = [node];
  const close = () => opened.forEach((o) => o.close());
  try {
    if (node.info.kind === 'array' && !isNumeric(node.dtype)) {
      place.append(head(title, `${node.dtype}, ${node.shape.join(' × ')}`), noPicture(node.dtype), attributes(node.attributes));
      return { close };
    }
    if (node.info.kind === 'array') {
      const view = new PlaneView(arraySource(node, counted(node, meter)));
      place.append(head(title, `${node.dtype}, ${node.shape.join(' × ')}${node.isSharded ? `, subchunks of ${node.subchunkShape.join(' × ')} in shards of ${node.chunkShape?.join(' × ') ?? 'several shapes'}` : ''}`), ...view.element);
      return { view, close: () => { view.close(); close(); } };
    }
    const [multiscale] = node.multiscales;
    if (multiscale === undefined) {
      place.append(head(title, `a group, Zarr version ${node.info.zarr_format}`), attributes(node.attributes));
      return { close };
    }
    const arrays = await Promise.all(multiscale.levels.map(({ path }) => node.open(path, { signal })));
    opened.push(...arrays);
    const view = new PlaneView(pyramidSource(multiscale, arrays, arrays.map((array) => counted(array, meter)), node.attributes));
    place.append(
      head(multiscale.name ? `${title}: ${multiscale.name}` : title, `${arrays[0].dtype}, ${multiscale.axes.map((a, i) => `${a.name} ${arrays[0].shape[i]}`).join(' × ')}, ${arrays.length} levels`),
      ...view.element,
    );
    return { view, close: () => { view.close(); close(); } };
  } catch (error) {
    close();
    throw error;
  }
}

/** A cache of an array's indexes, which the meter asks. */
function counted(array, meter) {
  const shardCache = array.shardCache();
  meter.add(async () => ({ indexes: (await shardCache.stats()).entries, decodingUs: (await array.cost()).decodingUs }));
  return shardCache;
}

export function head(title, text, ...more) {
  return el('div', { class: 'title' }, el('h2', {}, title), el('p', {}, text), ...more);
}

export function noPicture(dtype) {
  return el('p', {}, `Elements of type ${dtype} are no pixels, so there is no picture of it.`);
}

export function attributes(all) {
  const entries = Object.entries(all ?? {});
  if (entries.length === 0) return el('p', {}, 'It has no attributes.');
  return el('section', {}, el('h3', {}, 'Attributes'), facts(entries.map(([k, v]) => [k, typeof v === 'string' ? v : JSON.stringify(v)])).list);
}
