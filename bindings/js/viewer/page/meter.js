// What is read costs requests, bytes and time. They are counted as they go by.

import { bytes, facts } from './dom.js';

const PACE = 200; // ms between two looks

/** Counts what the page fetches, and asks what is open what it spent. */
export class Meter {
  #requests = 0;
  #bytes = 0;
  #asked = new Set();
  #shown;
  #timer;

  constructor(place) {
    this.#shown = facts([['Requests', 0], ['Bytes', '0 bytes'], ['Cached indexes', 0], ['Decoding', '0 ms']], place.appendChild(document.createElement('dl')));
    /** A `fetch` that counts. */
    this.fetch = async (input, init) => {
      this.#requests++;
      this.look();
      const response = await fetch(input, init);
      if (init?.method !== 'HEAD') this.#bytes += Number(response.headers.get('content-length') ?? 0);
      this.look();
      return response;
    };
  }

  /** Begins anew, for what is opened next. `ask` of each source gives `{ indexes, decodingUs }`. */
  reset() {
    this.#requests = this.#bytes = 0;
    this.#asked.clear();
    this.look();
  }

  add(ask) {
    this.#asked.add(ask);
    this.look();
  }

  /** Looks soon: at once would be each time. */
  look() {
    this.#timer ??= setTimeout(() => void this.#show(), PACE);
  }

  async #show() {
    const told = await Promise.allSettled([...this.#asked].map((ask) => ask()));
    this.#timer = undefined;
    const known = told.filter((t) => t.status === 'fulfilled').map((t) => t.value);
    const sum = (name) => known.reduce((n, one) => n + (one[name] ?? 0), 0);
    this.#shown.set('Requests', this.#requests);
    this.#shown.set('Bytes', bytes(this.#bytes));
    this.#shown.set('Cached indexes', known.length > 0 ? sum('indexes') : 'none kept');
    this.#shown.set('Decoding', known.length > 0 ? `${(sum('decodingUs') / 1000).toFixed(1)} ms` : 'not told');
  }
}
