// The page: what is in the directory, and what was chosen of it.

import { el, say } from './dom.js';
import { address, fewAtOnce, kindOf, list } from './listing.js';
import { Meter } from './meter.js';

const $ = (id) => document.getElementById(id);
const [paths, listing, place] = [$('path'), $('list'), $('view')];
const meter = new Meter($('meter'));
const kindNames = { container: 'Blosc2', images: 'images', archive: 'zip', zarr: 'Zarr', directory: '', file: '' };
const MOST_LOOKED_INTO = 200; // directories of a listing

// Loading begins with the page, before anything is known of what to show.
const loading = import('./gridhold/index.js').then(({ Gridhold }) => Gridhold.load({ fetch: meter.fetch }));
loading.catch(() => {}); // told of where it is waited for

let shown = { close() {} };
let leave = new AbortController();

/** The path that the address names, as it is in the directory: without a slash in front. */
const wanted = () => decodeURIComponent(location.hash.replace(/^#\/?/, ''));

const link = (path) => `#/${path.split('/').map(encodeURIComponent).join('/')}`;

async function show() {
  const path = wanted();
  leave.abort();
  leave = new AbortController();
  const { signal } = leave;
  shown.close();
  shown = { close() {} };
  meter.reset();
  document.title = path === '' ? 'Gridhold' : `${path} – Gridhold`;
  showPath(path);
  place.replaceChildren(el('p', {}, 'Opening…'));
  void showList(path, signal);
  try {
    const kind = await kindOf(path, signal);
    const made = document.createDocumentFragment();
    const opened = await open(kind, path, made, signal);
    if (signal.aborted) return opened.close();
    shown = opened;
    globalThis.viewer = { gridhold: await loading, meter, ...shown }; // for the console, and for tests
    place.replaceChildren(made);
    say(`${path || 'the directory'} is shown`);
  } catch (error) {
    if (signal.aborted) return;
    place.replaceChildren(el('h2', {}, path), el('p', { class: 'failure', role: 'alert' }, `${error.code ?? error.name}: ${error.message}`));
  }
}

async function open(kind, path, made, signal) {
  const options = { meter, signal, title: path.replace(/\/$/, '').split('/').at(-1) || location.host };
  const source = address(path).replace(/\/$/, '');
  switch (kind) {
    case 'zarr': return (await import('./zarr-view.js')).showZarr(await loading, source, made, options);
    case 'archive': return (await import('./zarr-view.js')).showZarr(await loading, `zip://${source}`, made, options);
    case 'container': return (await import('./container-view.js')).showContainer(await loading, source, made, options);
    case 'images': return (await import('./stack-view.js')).showStack(await loading, source, made, options);
    case 'file': made.append(el('h2', {}, path), el('p', {}, 'This is none of the formats that can be shown. ', el('a', { href: source }, 'Its bytes')));
      return { close() {} };
    default: made.append(el('p', {}, path === '' ? 'Choose what to open.' : `${path} is a directory.`));
      return { close() {} };
  }
}

function showPath(path) {
  const parts = path.split('/').filter(Boolean);
  paths.replaceChildren(el('ol', {}, ...parts.map((part, i) => {
    const last = i === parts.length - 1;
    return el('li', {}, el('a', { href: link(parts.slice(0, i + 1).join('/') + (last && !path.endsWith('/') ? '' : '/')), 'aria-current': last && 'page' }, part));
  })));
}

/** Lists the directory that a path is, or lies in; of a Zarr array the one that it lies in. */
async function showList(path, signal) {
  try {
    const inside = path.endsWith('/') && (await kindOf(path, signal)) === 'zarr' ? path.slice(0, -1) : path;
    let dir = inside.slice(0, inside.lastIndexOf('/') + 1);
    let names = await list(dir, signal);
    if (inside !== path && names.length > 0) {
      const below = (await list(path, signal)).filter((name) => name.endsWith('/'));
      const kinds = await Promise.all(below.slice(0, MOST_LOOKED_INTO).map((name) => kindOf(path + name, signal)));
      if (kinds.includes('zarr')) [dir, names] = [path, below.filter((_, i) => kinds[i] === 'zarr')]; // a group
    }
    const entries = names.map((name) => {
      const kind = el('small');
      const here = dir + name === path;
      return { path: dir + name, kind, item: el('li', {}, el('a', { href: link(dir + name), 'aria-current': here && 'page' }, name, kind)) };
    });
    const up = dir === '' ? [] : [el('li', {}, el('a', { href: link(dir.slice(0, dir.lastIndexOf('/', dir.length - 2) + 1)) }, '← up'))];
    listing.replaceChildren(el('ul', {}, ...up, ...entries.map((e) => e.item)));
    let looked = 0;
    await fewAtOnce(entries, async (e) => {
      if (e.path.endsWith('/') && looked++ >= MOST_LOOKED_INTO) return;
      e.kind.textContent = kindNames[await kindOf(e.path, signal).catch(() => 'file')];
    });
  } catch (error) {
    if (!signal.aborted) listing.replaceChildren(el('p', { class: 'failure' }, error.message));
  }
}

$('skip').addEventListener('click', (e) => {
  e.preventDefault(); // the address says what is shown
  (place.querySelector('[role=application], .cells [tabindex="0"]') ?? place).focus();
});
addEventListener('hashchange', () => void show());
void show();
