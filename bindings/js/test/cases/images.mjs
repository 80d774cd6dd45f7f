// Stacks of images, tables that point at them and scratches of them, as objects of a store.
import { equal, ok, rejects, sha256 } from '../check.mjs';

export const images = {
  async 'images: every one, by its sha256'({ load, store, images, lib }) {
    const gh = await load();
    const source = store('images');
    let read = 0;
    for (const { file, expect, image_sha256: hashes } of images.files) {
      const opening = gh.openStack(source, { path: file });
      if (expect.startsWith('error:')) {
        const { message, code } = await rejects(opening, lib.GridholdError, file);
        ok(['Corrupt', 'Unsupported'].includes(code) && message.includes(expect.slice(6).replaceAll('-', ' ')), message);
        continue;
      }
      const stack = await opening;
      const all = await stack.read(0, stack.length);
      const size = all.bytes.length / (hashes?.length || 1);
      for (const [i, want] of (hashes ?? []).entries()) {
        equal(await sha256(all.bytes.subarray(i * size, (i + 1) * size)), want, `${file} ${i}`);
        read++;
      }
      stack.close();
    }
    ok(read > 400, `${read} images`);
  },

  async 'images: every row of every table'({ load, store, images, url }) {
    const gh = await load();
    for (const { file, locations } of images.tables) {
      for (const table of [gh.readTable(store('images'), { path: file }), gh.readTable(`${url}images/${file}`)]) {
        equal((await table).rows.map(({ path, index }) => [path, index]), locations, file);
      }
    }
  },

  async 'images: a scratch over HTTP reads each once'({ load, images, url, lib }) {
    const gh = await load();
    const file = 'mode2_le_7x16x16.mrcs';
    const { image_sha256: hashes } = images.files.find((entry) => entry.file === file);
    const locations = hashes.map((_, index) => ({ path: file, index }));
    const scratch = await gh.createHostImageScratch(locations, 2, undefined, { source: `${url}images` });
    await scratch.prefetch();
    const { source_reads: reads, present } = await scratch.stats();
    equal(present, 7);
    const all = await scratch.read([...locations].reverse());
    for (const [i, want] of hashes.entries()) equal(await sha256(all.bytes.subarray((6 - i) * 1024, (7 - i) * 1024)), want, `${i}`);
    equal((await scratch.stats()).source_reads, reads);
    await rejects(scratch.read(locations, { signal: AbortSignal.abort() }), DOMException);
    scratch.close();
    await rejects(scratch.read(locations), lib.ClosedError);
  },

  async 'images: a scratch in private files is found again'({ load, images, url, lib }) {
    const gh = await load();
    if (globalThis.location === undefined) {
      return rejects((async () => lib.originPrivate('a'))(), lib.UnsupportedError);
    }
    const file = 'mode2_le_7x16x16.mrcs';
    const { image_sha256: hashes } = images.files.find((entry) => entry.file === file);
    const locations = hashes.map((_, index) => ({ path: file, index }));
    const name = `scratches/${crypto.randomUUID()}`;
    const make = (on) => on.createHostImageScratch(locations, 2, undefined, { source: `${url}images` }, { file: lib.originPrivate(name) });
    const check = async (scratch) => {
      const all = await scratch.read([...locations].reverse());
      for (const [i, want] of hashes.entries()) equal(await sha256(all.bytes.subarray((6 - i) * 1024, (7 - i) * 1024)), want, `${i}`);
    };
    const scratch = await make(gh);
    await scratch.prefetch();
    equal((await scratch.stats()).present, 7);
    await check(scratch);
    scratch.close();
    gh.close();
    const later = await load();
    const again = await make(later);
    const { present } = await again.stats();
    equal(present, 7, 'what is there');
    await check(again);
    equal((await again.stats()).source_reads, 0, 'nothing is read again');
    again.close();
    const reader = await later.openImageScratch(lib.originPrivate(name), locations, 2, { source: `${url}images` });
    await check(reader);
    reader.close();
    await rejects(later.openImageScratch(lib.originPrivate('none'), locations, 2, { source: `${url}images` }), lib.NotFoundError);
  },

  async 'containers: written in private files'({ load, lib }) {
    const gh = await load();
    if (globalThis.location === undefined) return;
    const file = lib.originPrivate(`containers/${crypto.randomUUID()}.b2nd`);
    const data = Int32Array.from({ length: 600 }, (_, i) => i);
    const array = await gh.createArray(file, { shape: [30, 20], dtype: 'int32', chunks: [10, 20], data });
    await rejects(gh.createArray(file, { shape: [1], dtype: 'int32' }), lib.GridholdError);
    await array.append(new Int32Array(20).fill(7));
    await array.vlmeta.set('unit', 'mm');
    await array.close();
    const again = await gh.openContainer(file);
    equal([again.shape, await again.vlmeta.get('unit')], [[31, 20], 'mm']);
    equal((await again.slice()).data, Int32Array.of(...data, ...new Int32Array(20).fill(7)));
    await again.close();
  },
};
