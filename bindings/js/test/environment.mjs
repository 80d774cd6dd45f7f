// What a case is given, in Node, in a page and in a worker alike; the caller
// says what differs between them.

/**
 * Runs one case. `around` has the package (`lib`), a compiled guest (`wasm`),
 * the class `zstd` of numcodecs, `serve(objects, behaviour)`, `store(folder)`
 * for a folder of testdata, and `url`, where testdata is served. What the
 * case loads and serves is closed when it is over.
 */
export async function runCase(run, around) {
  const { lib, wasm, serve, store } = around;
  const open = [];
  const kept = async (promise) => {
    const made = await promise;
    open.push(made);
    return made;
  };
  try {
    await run({
      ...around,
      fixtures: store('zarr'),
      load: (options = {}) => kept(lib.Gridhold.load(options.memory ? options : { wasm, ...options })),
      serve: (objects, behaviour) => kept(serve(objects, behaviour)),
    });
  } finally {
    for (const made of open.reverse()) await made.close();
  }
}

/** The lists of what is in testdata, read from a store of each folder. */
export async function manifests(store) {
  const read = async (folder, name) => {
    const answer = await store(folder).read(name, [{ offset: 0 }], undefined, new AbortController().signal);
    return JSON.parse(new TextDecoder().decode(answer.data[0]));
  };
  return {
    manifest: await read('zarr', 'manifest.json'),
    corrupt: await read('zarr', 'corrupt.json'),
    containers: (await read('blosc2', 'manifest.json')).entries,
    images: await read('images', 'manifest.json'),
  };
}
