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
};
