// A Blosc2 container: an array is a picture that grows with it, of others
// there is what they say of themselves.

import { el, facts, say } from './dom.js';
import { isNumeric } from './numbers.js';
import { PlaneView } from './plane-view.js';
import { containerSource } from './sources.js';
import { head, noPicture } from './zarr-view.js';

export async function showContainer(gridhold, url, place, { signal, title }) {
  const container = await gridhold.openContainer(url, { signal });
  const closers = [() => void container.close().catch(() => {})];
  const close = () => closers.forEach((c) => c());
  try {
    if (container.kind !== 'ndarray' || !isNumeric(container.dtype)) {
      place.append(head(title, `a Blosc2 ${container.kind}`), ...(container.kind === 'ndarray' ? [noPicture(container.dtype)] : []), facts(Object.entries(await container.info({ signal })).map(([k, v]) => [k, typeof v === 'object' ? JSON.stringify(v) : v])).list);
      return { close };
    }
    const view = new PlaneView(containerSource(container));
    const follow = el('input', { type: 'checkbox', checked: true });
    const state = el('p', { class: 'live' });
    place.append(head(title, `${container.dtype}, chunks of ${container.chunks.join(' × ')}`, state, el('label', {}, follow, 'Follow what is added')), ...view.element);
    closers.push(() => view.close(), live(container, url, {
      told: (text) => { state.textContent = text; },
      changed: () => view.grew(follow.checked),
    }));
    return { view, container, close };
  } catch (error) {
    close();
    throw error;
  }
}

const AGAIN = 250; // ms until another try, where a writer was in the way
const TRIES = 20;

/**
 * Takes over each change that the server tells of, one refresh at a time: changes meanwhile are one. Returns what ends
 * that.
 */
function live(container, url, { told, changed }) {
  const size = () => container.shape.join(' × ');
  const events = new EventSource(`${url}?events`);
  let [behind, busy, failures, timer] = [false, false, 0, undefined];
  const catchUp = async () => {
    behind = true;
    if (busy) return;
    busy = true;
    clearTimeout(timer);
    try {
      while (behind) {
        behind = false;
        if (await container.refresh()) changed();
        told(`live, ${size()}`);
      }
      failures = 0;
    } catch (error) {
      if (++failures < TRIES) timer = setTimeout(() => void catchUp(), AGAIN);
      else told(`${error.name}: ${error.message}`);
    } finally {
      busy = false;
    }
  };
  told(size());
  events.addEventListener('change', () => void catchUp());
  events.addEventListener('failure', (e) => {
    told(`no longer followed: ${JSON.parse(e.data).text}`);
    events.close();
  });
  events.addEventListener('error', () => {
    if (events.readyState === EventSource.CLOSED) told(`${size()}, not followed`);
    else told(`${size()}, connecting again`);
  });
  say(`followed live, ${size()}`);
  return () => {
    clearTimeout(timer);
    events.close();
  };
}
