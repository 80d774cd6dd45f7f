// Loaded before each file of tests: one that hangs says what it was at, and
// ends with its children, whose output the runner would wait for. The runner's
// own limit is of a file, and names no test.
import { readFileSync } from 'node:fs';
import { afterEach, beforeEach } from 'node:test';

const LIMIT = Number(process.env.TEST_LIMIT ?? 300); // seconds, of one test; the longest takes 5 on a machine that does nothing else

let timer;
function at(what) {
  clearTimeout(timer);
  timer = setTimeout(() => {
    process.stderr.write(`HANGS: ${process.argv[1]}: ${what}: ${LIMIT} s; waits for ${process.getActiveResourcesInfo().join(', ')}\n`);
    for (const child of children()) process.kill(child, 'SIGKILL');
    process.exit(1);
  }, LIMIT * 1000);
  timer.unref();
}

function children() {
  try {
    return readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  } catch {
    return []; // elsewhere than on Linux nobody knows them
  }
}

at('before the first test');
beforeEach((t) => at(t.name));
afterEach((t) => at(`after ${t.name}`));
