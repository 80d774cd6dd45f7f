// Gathers what the page needs of the built package, dist, into
// page/gridhold, which is committed: so the command can be built without
// Node. With --check it says what is not as it would be gathered.
import { readFileSync, readdirSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const dist = new URL('../dist/', import.meta.url);
const here = new URL('./page/gridhold/', import.meta.url);

/** The modules that `name` imports, itself among them. */
function reached(name, found = new Map()) {
  if (found.has(name)) return found;
  const text = readFileSync(new URL(name, dist), 'utf8');
  found.set(name, text);
  for (const [, next] of text.matchAll(/(?:from|import|import\()\s*'\.\/([^']+\.js)'/g)) reached(next, found);
  for (const [, next] of text.matchAll(/new URL\('\.\/([^']+\.js)'/g)) reached(next, found);
  return found;
}

const wanted = reached('index.js');
if (process.argv.includes('--check')) {
  const there = new Set(readdirSync(here));
  const wrong = [...wanted].filter(([name, text]) => !there.has(name) || readFileSync(new URL(name, here), 'utf8') !== text).map(([name]) => name);
  wrong.push(...[...there].filter((name) => !wanted.has(name)));
  if (wrong.length > 0) {
    console.error(`${fileURLToPath(here)} is not what bindings/js gives, run "make viewer": ${wrong.join(', ')}`);
    process.exit(1);
  }
} else {
  rmSync(here, { recursive: true, force: true });
  mkdirSync(here, { recursive: true });
  for (const [name, text] of wanted) writeFileSync(new URL(name, here), text);
}
console.log(`viewer: ${wanted.size} modules, ${[...wanted.values()].reduce((n, text) => n + text.length, 0)} bytes`);
