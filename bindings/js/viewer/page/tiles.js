// Tiles of planes: read when they are wanted, painted when they are there,
// dropped when others need the room.

import { addLight, paint, table } from './colours.js';
import { tileLength } from './sources.js';

const ROOM = 192 << 20; // bytes of numbers that are kept
const AT_ONCE = 8; // reads under way

export class Tiles {
  #source;
  #tiles = new Map(); // by key, the least recently used first
  #bytes = 0;
  #wanted = [];
  #reading = new Map(); // by key: AbortController
  #changed;
  #failed;
  #painting = 0; // counts the looks that tiles were painted for
  #state = 0; // counts the states of the source that tiles are of

  /** `changed` is called when a tile came, `failed` with what went wrong. */
  constructor(source, { changed, failed }) {
    this.#source = source;
    this.#changed = changed;
    this.#failed = failed;
  }

  /** Whether everything that is wanted is there. */
  get settled() {
    return this.#wanted.length === 0 && this.#reading.size === 0;
  }

  /** Height and width of a level, and of its tiles. */
  geometry(l) {
    const level = this.#source.levels[l];
    const { y, x } = this.#source;
    const along = (axis) => (axis < 0 ? 1 : level.shape[axis]);
    return { h: along(y), w: along(x), th: y < 0 ? 1 : tileLength(level, y), tw: x < 0 ? 1 : tileLength(level, x) };
  }

  /** A tile that is there. `at` are the indices along the axes that are not seen, of the finest level. */
  get(l, at, channel, ty, tx) {
    const key = this.#key(l, at, channel, ty, tx);
    const tile = this.#tiles.get(key);
    if (tile !== undefined) {
      this.#tiles.delete(key);
      this.#tiles.set(key, tile);
    }
    return tile;
  }

  /** All tiles of a plane that are there. */
  *of(l, at, channel) {
    const { h, w, th, tw } = this.geometry(l);
    for (let ty = 0; ty * th < h; ty++) {
      for (let tx = 0; tx * tw < w; tx++) {
        const tile = this.#tiles.get(this.#key(l, at, channel, ty, tx));
        if (tile !== undefined) yield tile;
      }
    }
  }

  /** Reads these and no others, in this order: `[level, at, channel, ty, tx]`. */
  want(list) {
    const keys = new Set();
    this.#wanted = [];
    for (const place of list) {
      const key = this.#key(...place);
      keys.add(key);
      const tile = this.#tiles.get(key);
      if (tile?.state !== this.#state && !this.#reading.has(key)) this.#wanted.push({ key, place });
    }
    for (const [key, controller] of this.#reading) if (!keys.has(key)) controller.abort();
    this.#next();
  }

  /** What is there may have changed: it is shown until it is read again, once what is being read has come. */
  stale() {
    this.#state++;
  }

  /** Another look (contrast, colours): tiles are painted anew when they are drawn. */
  repaint() {
    this.#painting++;
  }

  /**
   * The pixels of a tile as a canvas: of one channel through its map, of several their light. `undefined` where none is
   * there.
   */
  painted(l, at, channels, ty, tx) {
    const there = channels.map((c) => ({ c, tile: this.get(l, at, c.index, ty, tx) })).filter(({ tile }) => tile !== undefined);
    if (there.length === 0) return undefined;
    const { tile } = there[0];
    const drawn = there.map(({ tile }) => tile.serial).join();
    if (tile.canvas === undefined || tile.painting !== this.#painting || tile.drawn !== drawn) {
      tile.canvas = new OffscreenCanvas(tile.w, tile.h);
      const image = new ImageData(tile.w, tile.h);
      for (const { c, tile: { data, h, w } } of there) {
        if (h !== tile.h || w !== tile.w) continue; // of another state of the array
        if (c.map !== undefined) paint(image.data, data, c.low, c.high, table(c.map));
        else addLight(image.data, data, c.low, c.high, c.colour);
      }
      tile.canvas.getContext('2d').putImageData(image, 0, 0);
      Object.assign(tile, { painting: this.#painting, drawn });
    }
    return tile;
  }

  close() {
    this.#wanted = [];
    for (const controller of this.#reading.values()) controller.abort();
    this.#tiles.clear();
  }

  #key(l, at, channel, ty, tx) {
    return `${l}|${this.#fixed(l, at, channel)}|${ty}|${tx}`;
  }

  /** Indices along the axes that are not seen, of a level. */
  #fixed(l, at, channel) {
    const { levels, channel: axis } = this.#source;
    const [finest, own] = [levels[0].shape, levels[l].shape];
    return at.map((i, a) => (a === axis ? channel : Math.min(own[a] - 1, Math.floor((i * own[a]) / finest[a]))));
  }

  #next() {
    while (this.#reading.size < AT_ONCE && this.#wanted.length > 0) {
      const { key, place } = this.#wanted.shift();
      const controller = new AbortController();
      this.#reading.set(key, controller);
      this.#read(place, controller.signal).then(
        (tile) => this.#keep(key, tile),
        (error) => controller.signal.aborted || this.#failed(error),
      ).finally(() => {
        if (this.#reading.get(key) === controller) this.#reading.delete(key);
        this.#changed();
        this.#next();
      });
    }
  }

  async #read([l, at, channel, ty, tx], signal) {
    const { y, x, levels } = this.#source;
    const state = this.#state;
    const { h, w, th, tw } = this.geometry(l);
    const start = this.#fixed(l, at, channel);
    const stop = start.map((i) => i + 1);
    const [high, wide] = [Math.min(th, h - ty * th), Math.min(tw, w - tx * tw)];
    if (y >= 0) [start[y], stop[y]] = [ty * th, ty * th + high];
    if (x >= 0) [start[x], stop[x]] = [tx * tw, tx * tw + wide];
    const data = await levels[l].read(start, stop, signal);
    return { data: y > x ? turned(data, wide, high) : data, h: high, w: wide, state, serial: serial++ };
  }

  #keep(key, tile) {
    const old = this.#tiles.get(key);
    this.#bytes += tile.data.byteLength - (old?.data.byteLength ?? 0);
    this.#tiles.delete(key);
    this.#tiles.set(key, tile);
    for (const [oldest, { data }] of this.#tiles) {
      if (this.#bytes <= ROOM || oldest === key) break;
      this.#tiles.delete(oldest);
      this.#bytes -= data.byteLength;
    }
  }
}

let serial = 0;

/** Rows for columns. */
function turned(data, h, w) {
  const out = new data.constructor(data.length);
  for (let i = 0; i < h; i++) for (let k = 0; k < w; k++) out[k * h + i] = data[i * w + k];
  return out;
}
