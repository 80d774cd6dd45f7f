// A stack of images: a grid of them, page by page, and one at a time.

import { quantiles, paint, table } from './colours.js';
import { el, facts, number, say, short, slider } from './dom.js';
import { isNumeric, numbersOf } from './numbers.js';
import { head } from './zarr-view.js';

const PAGE = 48; // images, if they are small
const PAGE_BYTES = 48 << 20;

export async function showStack(gridhold, url, place, { signal, title }) {
  const stack = await gridhold.openStack(url, { signal });
  const pixel = stack.info.pixel_size ? `, ${short(stack.info.pixel_size)} Å a pixel` : '';
  place.append(head(title, `${stack.info.kind}, ${stack.dtype}, ${stack.length} × ${[...stack.imageShape].reverse().join(' × ')}${pixel}`));
  if (stack.length === 0) return { close: () => stack.close() };
  const view = new StackView(stack);
  place.append(...view.element);
  await view.go(0);
  return { view, close: () => stack.close() };
}

class StackView {
  #stack;
  #page;
  #first = -1;
  #images = []; // of this page: numbers
  #chosen = 0;
  #parts = [1, 99]; // per cent
  #turn = 0;
  #cells = el('div', { class: 'cells', role: 'group', 'aria-label': 'Images', onkeydown: (e) => this.#key(e) });
  #aside = el('aside', { class: 'chosen', 'aria-label': 'The image that is picked' });
  #of = el('output');
  #index;
  #failure = el('p', { class: 'failure', role: 'alert', hidden: true });

  constructor(stack) {
    this.#stack = stack;
    if (!isNumeric(stack.dtype)) throw new Error(`elements of type ${stack.dtype} are no pixels`);
    const [h, w] = this.#size();
    this.#page = Math.min(PAGE, Math.max(1, Math.floor(PAGE_BYTES / (h * w * 4))));
    const last = Math.max(0, stack.length - 1);
    this.#index = number('Image', { min: 0, max: last, step: 1, value: 0, change: (i) => void this.pick(Math.min(Math.max(0, Math.round(i)), last), true) });
    const percent = (label, k) => number(label, { min: 0, max: 100, value: this.#parts[k], change: (p) => { this.#parts[k] = p; this.#paintAll(); } });
    this.element = [
      el('div', { class: 'bar', role: 'group', 'aria-label': 'How it is shown' },
        this.#index.row,
        el('button', { onclick: () => void this.go(this.#first - this.#page) }, 'Earlier'), this.#of, el('button', { onclick: () => void this.go(this.#first + this.#page) }, 'Later'),
        el('fieldset', {}, el('legend', {}, 'Contrast, percentiles'), percent('low', 0).row, percent('high', 1).row),
        slider('Size', { min: 3, max: 16, step: 0.5, value: 6, show: (v) => `${v} rem`, change: (v) => this.#cells.style.setProperty('--cell', `${v}rem`) }).row),
      this.#failure,
      el('div', { class: 'stack' }, this.#cells, this.#aside),
    ];
  }

  /** Height and width of what is seen of an image: of a volume, all its sections, one below the other. */
  #size() {
    const shape = this.#stack.imageShape;
    return [shape.slice(0, -1).reduce((a, b) => a * b, 1), shape.at(-1)];
  }

  /** Shows the page that begins with an image. */
  async go(first) {
    const { length } = this.#stack;
    first = Math.max(0, Math.min(first, Math.floor((length - 1) / this.#page) * this.#page));
    const turn = ++this.#turn;
    const count = Math.min(this.#page, length - first);
    let all;
    try {
      all = numbersOf(await this.#stack.read(first, count));
    } catch (error) {
      this.#failure.hidden = false;
      this.#failure.textContent = `${error.name}: ${error.message}`;
      return;
    }
    if (turn !== this.#turn) return; // another page is wanted by now
    const [h, w] = this.#size();
    this.#first = first;
    this.#images = Array.from({ length: count }, (_, i) => all.subarray(i * h * w, (i + 1) * h * w));
    this.#of.value = `${first} to ${first + count - 1} of ${length}`;
    this.#cells.replaceChildren(...this.#images.map((_, i) => el('button', {
      'aria-label': `Image ${first + i}`, 'aria-pressed': 'false', tabIndex: -1, onclick: () => void this.pick(first + i, false),
    }, el('canvas', { width: w, height: h }), el('span', { 'aria-hidden': 'true' }, String(first + i)))));
    this.#paintAll();
    await this.pick(Math.min(Math.max(this.#chosen, first), first + count - 1), false);
  }

  /** Picks an image by its index, and turns to its page. */
  async pick(index, announce) {
    if (index < this.#first || index >= this.#first + this.#images.length) {
      this.#chosen = index;
      await this.go(Math.floor(index / this.#page) * this.#page);
    }
    this.#chosen = index;
    this.#index.input.value = index;
    for (const [i, cell] of [...this.#cells.children].entries()) {
      const picked = this.#first + i === index;
      cell.setAttribute('aria-pressed', String(picked));
      cell.tabIndex = picked ? 0 : -1;
      if (picked) cell.scrollIntoView({ block: 'nearest' });
    }
    const data = this.#images[index - this.#first];
    if (data === undefined) return;
    const [h, w] = this.#size();
    const canvas = el('canvas', { width: w, height: h, role: 'img', 'aria-label': `Image ${index}` });
    this.#paint(canvas, data, this.#limits());
    let [low, high, sum, squares] = [Infinity, -Infinity, 0, 0];
    for (const v of data) { low = Math.min(low, v); high = Math.max(high, v); sum += Number(v); squares += Number(v) ** 2; }
    const mean = sum / data.length;
    const about = [['Index', index], ['Least', short(low)], ['Greatest', short(high)], ['Mean', short(mean)], ['Deviation', short(Math.sqrt(Math.max(0, squares / data.length - mean ** 2)))]];
    this.#aside.replaceChildren(canvas, facts(about).list);
    if (announce) say(`Image ${index}: ${about.slice(1).map((f) => f.join(' ')).join(', ')}`);
  }

  /** What the percentiles are on this page. */
  #limits() {
    return quantiles(this.#images, this.#parts.map((p) => p / 100));
  }

  #paintAll() {
    const limits = this.#limits();
    for (const [i, canvas] of [...this.#cells.querySelectorAll('canvas')].entries()) this.#paint(canvas, this.#images[i], limits);
    const [shown] = this.#aside.querySelectorAll('canvas');
    if (shown !== undefined && this.#images[this.#chosen - this.#first] !== undefined) this.#paint(shown, this.#images[this.#chosen - this.#first], limits);
  }

  #paint(canvas, data, [low, high]) {
    const image = new ImageData(canvas.width, canvas.height);
    paint(image.data, data, low, high, table('grey'));
    canvas.getContext('2d').putImageData(image, 0, 0);
  }

  #key(e) {
    const columns = getComputedStyle(this.#cells).gridTemplateColumns.split(' ').length;
    const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns, PageUp: -this.#page, PageDown: this.#page, Home: -Infinity, End: Infinity }[e.key];
    if (by === undefined) return;
    e.preventDefault();
    const to = Math.min(this.#stack.length - 1, Math.max(0, this.#chosen + by));
    void this.pick(to, true).then(() => this.#cells.querySelector('[aria-pressed=true]')?.focus());
  }
}
