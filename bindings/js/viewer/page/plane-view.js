// A plane of a source on a canvas: panned, zoomed, sliced, coloured.

import { channelColours, maps, quantiles } from './colours.js';
import { choice, el, say, short, slider } from './dom.js';
import { Tiles } from './tiles.js';

const HELP = 'Arrows pan, + and − zoom, 0 fits, Page Up and Page Down go through slices, V tells the value in the middle.';
const PAN = 60; // pixels of the screen
const ZOOM = Math.SQRT2;
const MOST_ZOOM = 64;
const SAMPLE = [0.005, 0.995]; // of the numbers lie outside of the contrast that is found

export class PlaneView {
  #source;
  #tiles;
  #canvas;
  #readout = el('p', {}, ' ');
  #state = el('p', {}, '');
  #failure = el('p', { class: 'failure', role: 'alert', hidden: true });
  #sliders = new Map(); // by axis
  #channels;
  #at; // indices along all axes, of the finest level
  #level = 'auto';
  #zoom; // pixels of the screen for one of the finest level; undefined: not fitted yet
  #centre = [0, 0]; // y and x of the finest level
  #fits = true;
  #frame = 0;
  #begun = performance.now();
  #observer;
  #follow = false;

  constructor(source) {
    this.#source = source;
    this.#at = source.axes.map(() => 0);
    const n = source.channel < 0 ? 1 : source.levels[0].shape[source.channel];
    this.#channels = Array.from({ length: n }, (_, index) => {
      const { name = `channel ${index}`, colour, window, off = false } = source.channels[index] ?? {};
      const [low, high] = window ?? [undefined, undefined];
      return { index, name, on: !off, low, high, found: window === undefined, ranged: false, colour: colour ?? channelColours[index % channelColours.length], map: n === 1 ? 'grey' : undefined };
    });
    if (!this.#channels.some((c) => c.on)) this.#channels[0].on = true;
    this.#tiles = new Tiles(source, {
      changed: () => this.#draw(),
      failed: (error) => this.#fail(error),
    });
    this.#canvas = el('canvas', {
      tabIndex: 0, role: 'application', 'aria-label': 'Picture', 'aria-roledescription': 'zoomable picture', 'aria-describedby': 'help',
      onkeydown: (e) => this.#key(e), onpointerdown: (e) => this.#press(e), onpointermove: (e) => this.#move(e),
      onpointerleave: () => { this.#readout.textContent = ' '; }, onwheel: (e) => this.#wheel(e), ondblclick: (e) => this.#zoomBy(2, e),
    });
    this.element = [
      ...this.#bars(),
      el('div', { class: 'picture' }, this.#canvas),
      this.#failure,
      el('div', { class: 'under' }, this.#state, this.#readout),
      el('p', { id: 'help', class: 'unseen' }, HELP),
    ];
    this.#observer = new ResizeObserver(() => this.#draw());
    this.#observer.observe(this.#canvas);
  }

  /** The array has changed, perhaps grown. With `follow`, what was added is shown. */
  grew(follow) {
    this.#tiles.stale();
    this.#follow = follow;
    const { shape } = this.#source.levels[0];
    for (const [axis, s] of this.#sliders) {
      const last = Math.max(0, shape[axis] - 1);
      if (follow && axis === 0) this.#at[0] = last;
      this.#at[axis] = Math.min(this.#at[axis], last);
      s.set({ max: last, value: this.#at[axis] });
    }
    if (follow) this.#fits = true;
    this.#forget(this.#channels.filter((c) => c.found));
    this.#draw();
  }

  close() {
    this.#observer.disconnect();
    cancelAnimationFrame(this.#frame);
    this.#tiles.close();
  }

  // What there is to choose.

  #bars() {
    const { axes, channel, y, x, levels } = this.#source;
    const bar = el('div', { class: 'bar', role: 'group', 'aria-label': 'What is shown' });
    if (levels.length > 1) {
      const all = levels.map((_, l) => { const { h, w } = this.#tiles.geometry(l); return [String(l), `${l}: ${w} × ${h}`]; });
      bar.append(choice('Level', [['auto', 'as the zoom needs'], ...all], 'auto', (v) => { this.#level = v === 'auto' ? v : Number(v); this.#draw(); }).row);
    }
    for (const [axis, { name, unit }] of axes.entries()) {
      if (axis === y || axis === x || axis === channel) continue;
      const s = slider(unit ? `${name} (${unit})` : name, {
        min: 0, max: Math.max(0, levels[0].shape[axis] - 1), value: 0, change: (i) => { this.#at[axis] = i; this.#draw(); },
      });
      this.#sliders.set(axis, s);
      bar.append(s.row);
    }
    bar.append(
      el('button', { 'aria-label': 'Farther', onclick: () => this.#zoomBy(1 / ZOOM) }, '−'),
      el('button', { 'aria-label': 'Nearer', onclick: () => this.#zoomBy(ZOOM) }, '+'),
      el('button', { onclick: () => { this.#fits = true; this.#draw(); } }, 'Fit'),
    );
    return [bar, el('div', { class: 'bar', role: 'group', 'aria-label': 'How it is shown' },
      ...this.#channels.map((c) => this.#channelBox(c)),
      el('button', { onclick: () => { this.#forget(this.#channels); this.#draw(); } }, 'Find the contrast'))];
  }

  #channelBox(c) {
    const one = this.#channels.length === 1;
    const changed = () => { this.#tiles.repaint(); this.#draw(); };
    c.sliders = ['low', 'high'].map((end) => slider(end, { min: 0, max: 1, step: 'any', value: 0, show: short, change: (v) => { c[end] = v; Object.assign(c, { found: false, ranged: true }); changed(); } }));
    const look = one
      ? choice('Colours', maps.map((m) => [m, m]), c.map, (m) => { c.map = m; changed(); }).row
      : el('label', {},
        el('input', { type: 'checkbox', checked: c.on, onchange: (e) => { c.on = e.target.checked; changed(); } }), 'shown',
        el('input', { type: 'color', value: c.colour, 'aria-label': `colour of ${c.name}`, oninput: (e) => { c.colour = e.target.value; changed(); } }));
    return el('fieldset', {}, el('legend', {}, one ? 'Contrast' : c.name), look, ...c.sliders.map((s) => s.row));
  }

  /** Finds a contrast for channels that have none, of the numbers that are there, until all are. */
  #contrast(levels) {
    for (const c of this.#channels.filter((c) => !c.ranged)) {
      const data = levels.map((l) => [...this.#tiles.of(l, this.#at, c.index)]).find((tiles) => tiles.length > 0)?.map((t) => t.data);
      if (data === undefined) continue;
      const [min, low, high, max] = quantiles(data, [0, ...SAMPLE, 1]);
      if (c.found) [c.low, c.high] = [low, high > low ? high : low + 1];
      const ends = { min: Math.min(min, c.low), max: Math.max(max, c.high) };
      c.sliders[0].set({ ...ends, value: c.low });
      c.sliders[1].set({ ...ends, value: c.high });
      c.ranged = this.#tiles.settled;
      this.#tiles.repaint();
    }
  }

  /** Forgets the contrast of channels, for it to be found anew. */
  #forget(channels) {
    for (const c of channels) Object.assign(c, { found: true, ranged: false });
  }

  // Drawing.

  #draw() {
    this.#frame ||= requestAnimationFrame(() => { this.#frame = 0; this.#paint(); });
  }

  #paint() {
    const canvas = this.#canvas;
    const ratio = devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (width === 0 || height === 0) return;
    const sizes = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== sizes[0] || canvas.height !== sizes[1]) [canvas.width, canvas.height] = sizes;
    if (this.#fits) this.#fit(width, height);
    const last = this.#source.levels.length - 1;
    const l = this.#level === 'auto' ? this.#levelForZoom() : this.#level;
    const on = this.#channels.filter((c) => c.on);
    const wanted = [];
    for (const level of new Set([last, l])) {
      const seen = this.#inSight(level, width, height);
      if (level === last && level !== l && seen.length > 16) continue; // no help, and much to read
      for (const [ty, tx] of seen) for (const c of on) wanted.push([level, this.#at, c.index, ty, tx]);
    }
    this.#tiles.want(wanted);
    this.#contrast([l, last]);

    const g = canvas.getContext('2d');
    g.setTransform(1, 0, 0, 1, 0, 0);
    g.clearRect(0, 0, canvas.width, canvas.height);
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    let drawn = 0;
    for (let level = last; level >= l; level--) drawn += this.#paintLevel(g, level, on, width, height);
    if (drawn > 0 && this.firstPixel === undefined) {
      this.firstPixel = performance.now() - this.#begun;
      performance.mark('first pixel');
    }
    this.#tell(l);
  }

  #paintLevel(g, level, on, width, height) {
    const { scale, shift } = this.#source.levels[level];
    const { th, tw } = this.#tiles.geometry(level);
    const [sy, sx] = [this.#heightOf(scale[0]), scale[1]];
    g.imageSmoothingEnabled = this.#zoom * sx < 1;
    let drawn = 0;
    for (const [ty, tx] of this.#inSight(level, width, height)) {
      const tile = this.#tiles.painted(level, this.#at, on.filter((c) => c.low !== undefined), ty, tx);
      if (tile === undefined) continue;
      const [top, left] = this.#onScreen(shift[0] + ty * th * sy, shift[1] + tx * tw * sx, width, height);
      const [bottom, right] = this.#onScreen(shift[0] + (ty * th + tile.h) * sy, shift[1] + (tx * tw + tile.w) * sx, width, height);
      const [y0, x0] = [Math.round(top), Math.round(left)]; // so that neighbours meet
      g.drawImage(tile.canvas, x0, y0, Math.max(1, Math.round(right) - x0), Math.max(1, Math.round(bottom) - y0));
      drawn++;
    }
    return drawn;
  }

  /** One row has no height to speak of: it is drawn as a band. */
  #heightOf(scale) {
    return this.#source.y < 0 ? Math.max(1, this.#tiles.geometry(0).w / 8) : scale;
  }

  #extent() {
    const { h, w } = this.#tiles.geometry(0);
    return [h * this.#heightOf(1), w];
  }

  #fit(width, height) {
    const [h, w] = this.#extent();
    this.#zoom = Math.min(width / Math.max(w, 1), height / Math.max(h, 1), MOST_ZOOM) * 0.98;
    this.#centre = [h / 2, w / 2];
  }

  #levelForZoom() {
    const { levels } = this.#source;
    const ratio = devicePixelRatio || 1;
    let l = 0;
    while (l + 1 < levels.length && levels[l + 1].scale[1] * this.#zoom * ratio <= 1.01) l++;
    return l;
  }

  #inSight(level, width, height) {
    const { scale, shift } = this.#source.levels[level];
    const { h, w, th, tw } = this.#tiles.geometry(level);
    const sy = this.#heightOf(scale[0]);
    const [y0, x0] = this.#inWorld(0, 0, width, height);
    const [y1, x1] = this.#inWorld(width, height, width, height);
    const first = (from, s, o, t) => Math.max(0, Math.floor((from - o) / s / t));
    const end = (to, s, o, t, n) => Math.min(Math.ceil(n / t), Math.ceil((to - o) / s / t));
    const tiles = [];
    for (let ty = first(y0, sy, shift[0], th); ty < end(y1, sy, shift[0], th, h); ty++) {
      for (let tx = first(x0, scale[1], shift[1], tw); tx < end(x1, scale[1], shift[1], tw, w); tx++) tiles.push([ty, tx]);
    }
    const middle = ([ty, tx]) => Math.hypot((ty + 0.5) * th * sy - this.#centre[0], (tx + 0.5) * tw * scale[1] - this.#centre[1]);
    return tiles.sort((a, b) => middle(a) - middle(b));
  }

  #onScreen(y, x, width, height) {
    return [(y - this.#centre[0]) * this.#zoom + height / 2, (x - this.#centre[1]) * this.#zoom + width / 2];
  }

  #inWorld(px, py, width, height) {
    return [(py - height / 2) / this.#zoom + this.#centre[0], (px - width / 2) / this.#zoom + this.#centre[1]];
  }

  #tell(l) {
    const { h, w } = this.#tiles.geometry(0);
    const slices = [...this.#sliders.keys()].map((axis) => `${this.#source.axes[axis].name} ${this.#at[axis]}`);
    const text = [`${w} × ${h}`, this.#source.levels.length > 1 && `level ${l}`, `zoom ${short(Math.round(this.#zoom * 1000) / 10)} %`, ...slices].filter(Boolean).join(', ');
    const { settled } = this.#tiles;
    this.#state.textContent = settled ? text : `${text}, reading…`;
    this.#canvas.setAttribute('aria-busy', String(!settled));
    if (settled && this.#said !== text && !this.#follow) say(text);
    this.#said = settled ? text : this.#said;
  }

  #said;

  #fail(error) {
    this.#failure.hidden = false;
    this.#failure.textContent = `${error.name}: ${error.message}`;
  }

  // What people do.

  #key(e) {
    const pan = (dy, dx) => { this.#fits = false; this.#centre[0] += (dy * PAN) / this.#zoom; this.#centre[1] += (dx * PAN) / this.#zoom; this.#draw(); };
    const deeds = {
      ArrowUp: () => pan(-1, 0), ArrowDown: () => pan(1, 0), ArrowLeft: () => pan(0, -1), ArrowRight: () => pan(0, 1),
      '+': () => this.#zoomBy(ZOOM), '=': () => this.#zoomBy(ZOOM), '-': () => this.#zoomBy(1 / ZOOM), '−': () => this.#zoomBy(1 / ZOOM),
      0: () => { this.#fits = true; this.#draw(); },
      PageUp: () => this.#step(1), PageDown: () => this.#step(-1), ']': () => this.#step(1), '[': () => this.#step(-1),
      v: () => say(this.#valueAt(...this.#centre)), V: () => say(this.#valueAt(...this.#centre)),
    };
    if (e.ctrlKey || e.metaKey || e.altKey || deeds[e.key] === undefined) return;
    e.preventDefault();
    deeds[e.key]();
  }

  /** Goes one slice on, along the last axis that is not seen. */
  #step(by) {
    const axis = [...this.#sliders.keys()].at(-1);
    if (axis === undefined) return;
    this.#at[axis] = Math.min(Math.max(0, this.#at[axis] + by), Math.max(0, this.#source.levels[0].shape[axis] - 1));
    this.#sliders.get(axis).set({ value: this.#at[axis] });
    this.#draw();
  }

  #zoomBy(factor, e) {
    const { clientWidth: width, clientHeight: height } = this.#canvas;
    const [px, py] = e === undefined ? [width / 2, height / 2] : [e.offsetX, e.offsetY];
    const [y, x] = this.#inWorld(px, py, width, height);
    this.#fits = false;
    this.#zoom = Math.min(MOST_ZOOM, Math.max(this.#zoom * factor, 1e-6));
    this.#centre = [y - (py - height / 2) / this.#zoom, x - (px - width / 2) / this.#zoom];
    this.#draw();
  }

  #wheel(e) {
    e.preventDefault();
    this.#zoomBy(2 ** (-e.deltaY / (e.deltaMode === 0 ? 300 : 10)), e);
  }

  #press(e) {
    this.#canvas.setPointerCapture(e.pointerId);
    this.#dragged = [e.clientX, e.clientY];
  }

  #dragged;

  #move(e) {
    if (e.buttons === 0) this.#dragged = undefined;
    if (this.#dragged !== undefined) {
      this.#fits = false;
      this.#centre[0] -= (e.clientY - this.#dragged[1]) / this.#zoom;
      this.#centre[1] -= (e.clientX - this.#dragged[0]) / this.#zoom;
      this.#dragged = [e.clientX, e.clientY];
      this.#draw();
    }
    if (this.#zoom !== undefined) this.#readout.textContent = this.#valueAt(...this.#inWorld(e.offsetX, e.offsetY, this.#canvas.clientWidth, this.#canvas.clientHeight));
  }

  /** What is there, of the finest level that has been read. */
  #valueAt(y, x) {
    const { levels } = this.#source;
    for (let l = 0; l < levels.length; l++) {
      const { scale, shift } = levels[l];
      const { h, w, th, tw } = this.#tiles.geometry(l);
      const [i, k] = [Math.floor((y - shift[0]) / this.#heightOf(scale[0])), Math.floor((x - shift[1]) / scale[1])];
      if (i < 0 || k < 0 || i >= h || k >= w) continue;
      const values = this.#channels.filter((c) => c.on).map((c) => {
        const tile = this.#tiles.get(l, this.#at, c.index, Math.floor(i / th), Math.floor(k / tw));
        return tile === undefined || i % th >= tile.h || k % tw >= tile.w ? undefined : short(Number(tile.data[(i % th) * tile.w + (k % tw)]));
      });
      if (values.some((v) => v !== undefined)) return `${l > 0 ? `level ${l}, ` : ''}y ${i}, x ${k}: ${values.map((v) => v ?? '–').join(', ')}`;
    }
    return ' ';
  }
}
