// Blosc2 containers that python-blosc2 wrote, as objects of a store.
import { equal, ok, rejects, sha256 } from '../check.mjs';

/** Those that are one object: not the ones that are directories. */
const files = (entries) => entries.filter(({ kind }) => kind !== 'chunk' && !kind.startsWith('sframe') && !kind.endsWith('-dir'));

export const containers = {
  async 'containers: all that python-blosc2 wrote, by its sha256'({ load, store, containers, lib }) {
    const gh = await load();
    const source = store('blosc2');
    let read = 0;
    const check = async (opened, want, what) => {
      if (want !== undefined) equal(await sha256(await whole(opened, lib)), want, what);
      read++;
    };
    for (const { file, keys, sha256: want } of files(containers)) {
      const opened = await gh.openContainer(source, { path: file });
      for (const [key, leaf] of Object.entries(keys ?? {})) {
        if (leaf.type === 'TreeStore') continue;
        await check(await opened.get(key), leaf.sha256, `${file} ${key}`);
      }
      if (keys === undefined) {
        await check(opened, want, file).catch((error) => {
          if (!(error instanceof lib.UnsupportedError && file.startsWith('plugin/'))) throw error;
        });
      }
      await opened.close();
    }
    ok(read > 245, `${read} read`);
  },

  async 'containers: over HTTP, and what is not there'({ load, url, lib }) {
    const gh = await load();
    const array = await gh.openContainer(`${url}blosc2/ndim/2d.b2nd`);
    const { data, shape, dtype } = await array.slice([{ start: 40, stop: 45, step: 2 }, -1]);
    equal([shape, dtype, data.length], [[3, 1], 'int32', 3]);
    equal(Array.from((await array.slice()).data.slice(-1)), [data[2]]);
    await rejects(array.setSlice([0], new Int32Array(67)), lib.ReadOnlyError);
    await rejects(gh.openContainer(`${url}blosc2/none.b2nd`), lib.NotFoundError);
    await rejects(array.slice([0], { signal: AbortSignal.abort() }), DOMException);
    await array.close();
    await rejects(array.slice(), lib.ClosedError);
  },
};

async function whole(opened, lib) {
  if (opened instanceof lib.NDArray) return (await opened.slice()).bytes;
  const chunks = [];
  for (let i = 0; i < opened.nchunks; i++) chunks.push(await opened.decompressChunk(i));
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}
