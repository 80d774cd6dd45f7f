// The server of server.mjs, made and driven by a page: the site that the page
// comes from runs it.

/** As `serve` of server.mjs. */
export async function serveFromAfar(objects, behaviour = {}) {
  const { id, url } = await tell('', packed({ behaviour, objects }));
  const call = (method, ...args) => tell(`/${id}/${method}`, packed({ args: args.filter((arg) => !(arg instanceof Uint8Array)), objects: bytesOf(args) }));
  const methods = ['set', 'put', 'taken', 'asked', 'dropped', 'close'];
  return { url, ...Object.fromEntries(methods.map((method) => [method, (...args) => call(method, ...args)])) };
}

const bytesOf = (args) => args.flatMap((arg) => (arg instanceof Uint8Array ? [['', arg]] : []));

async function tell(path, body) {
  const response = await fetch(`/servers${path}`, { method: 'POST', body });
  if (!response.ok) throw new Error(`/servers${path}: ${response.status}`);
  return response.json();
}

/** A length, JSON, and the bytes of all objects one after another. */
export function packed({ objects, ...rest }) {
  const list = [...objects];
  const head = new TextEncoder().encode(JSON.stringify({ ...rest, objects: list.map(([key, bytes]) => [key, bytes.length]) }));
  return new Blob([Uint32Array.of(head.length), head, ...list.map(([, bytes]) => bytes)]);
}

/** Takes apart what `packed` makes. */
export function unpacked(body) {
  const length = new DataView(body.buffer, body.byteOffset).getUint32(0, true);
  const { objects, ...rest } = JSON.parse(new TextDecoder().decode(body.subarray(4, 4 + length)));
  let at = 4 + length;
  return { ...rest, objects: objects.map(([key, size]) => [key, body.subarray(at, (at += size))]) };
}
