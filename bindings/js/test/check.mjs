// Assertions that run wherever the cases run, also in a page.

/** Fails with a message unless `got` is `want`, by value. */
export function equal(got, want, what = 'value') {
  const [g, w] = [show(got), show(want)];
  if (g !== w) throw new Error(`${what}: got ${g.slice(0, 400)}, want ${w.slice(0, 400)}`);
}

export function ok(got, what) {
  if (!got) throw new Error(what);
}

/** Fails unless the promise rejects with an error of that class; returns the error. */
export async function rejects(promise, type, what = 'call') {
  let value;
  try {
    value = await promise;
  } catch (error) {
    if (error instanceof type) return error;
    throw new Error(`${what}: wanted ${type.name}, got ${error?.stack ?? error}`);
  }
  throw new Error(`${what}: wanted ${type.name}, got ${show(value).slice(0, 200)}`);
}

/** Looks until what is said holds; a test that waits for what never comes fails, and does not hang. */
export async function until(holds, what, seconds = 120) {
  for (const end = Date.now() + seconds * 1000; !(await holds()); await new Promise((resolve) => setTimeout(resolve))) {
    if (Date.now() > end) throw new Error(`${what}: not within ${seconds} s`);
  }
}

function show(value) {
  return JSON.stringify(value, (_, v) => {
    if (typeof v === 'bigint') return `${v}n`;
    if (ArrayBuffer.isView(v)) return [v.constructor.name, ...Array.from(v, String)];
    return v === undefined ? 'undefined' : v;
  });
}

export async function sha256(view) {
  const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return Array.from(digest, (b) => b.toString(16).padStart(2, '0')).join('');
}
