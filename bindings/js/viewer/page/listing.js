// What is in a directory, and what each of it can be opened as.

const endings = [
  [/\.(b2nd|b2frame|b2e|b2z)$/i, 'container'],
  [/\.(mrcs?|map|st|rec|ali)$/i, 'images'],
  [/\.zip$/i, 'archive'],
];

/** `zarr.json` and the like, which say that a directory is an array or a group. */
const metadata = ['zarr.json', '.zarray', '.zgroup'];

const kinds = new Map(); // of directories, by path: promises

/** The address of a path in the directory that is served. */
export function address(path) {
  return new URL(`/${path.split('/').map(encodeURIComponent).join('/')}`, location.origin).href;
}

/** The names below a path (`''` or ending in `/`). */
export async function list(path, signal) {
  const response = await fetch(address(path), { headers: { accept: 'application/json' }, signal });
  if (!response.ok) throw new Error((await response.text()).trim());
  return (await response.json()).names;
}

/** What a path is: `container`, `images`, `archive`, `zarr`, `directory` or `file`. A directory has to be looked into. */
export async function kindOf(path, signal) {
  if (path !== '' && !path.endsWith('/')) return endings.find(([ending]) => ending.test(path))?.[1] ?? 'file';
  if (!kinds.has(path)) {
    const kind = list(path, signal).then((names) => (names.some((name) => metadata.includes(name)) ? 'zarr' : 'directory'));
    kinds.set(path, kind);
    kind.catch(() => kinds.delete(path)); // asked again the next time
  }
  return kinds.get(path);
}

/** Calls `each` for every item, a few at a time. */
export async function fewAtOnce(items, each, most = 8) {
  const rest = items[Symbol.iterator]();
  await Promise.all(Array.from({ length: most }, async () => { for (const item of rest) await each(item); }));
}
