// Rules of the package itself.
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import * as lib from '@gridhold/gridhold';
import * as node from '@gridhold/gridhold/node';

import { equal, ok } from './check.mjs';

const read = (path) => readFileSync(new URL(path, import.meta.url), 'utf8');

test('a browser loads nothing of Node', () => {
  const seen = new Set();
  const visit = (name) => {
    if (seen.has(name)) return;
    seen.add(name);
    for (const [, from] of read(`../dist/${name}`).matchAll(/(?:from|import)\s*\(?\s*['"]([^'"]+)['"]/g)) {
      ok(from.startsWith('./'), `${name} imports ${from}`);
      visit(from.slice(2));
    }
  };
  visit('index.js');
  ok(seen.has('guest.js') && !seen.has('file-store.js'), [...seen].join());
});

test('the lock file names no registry', () => {
  equal(read('../package-lock.json').match(/https?:\/\//g), null);
});

test('exports', () => {
  equal(Object.keys(lib).sort(), [
    'CancelledError', 'ClosedError', 'Container', 'CorruptError', 'DEFAULT_MEMORY', 'DictStore', 'EmbedStore', 'ExistsError', 'Extension',
    'Frame', 'GridArray', 'GridGroup', 'Gridhold', 'GridholdError', 'HttpStore', 'IOError', 'ImageScratch', 'ImageStack', 'InternalError', 'InvalidError', 'KeyStore',
    'LimitError', 'LockTimeoutError', 'LockedError', 'MultiscaleImage', 'NDArray', 'NoSpaceError', 'NotAllowedError', 'NotFoundError', 'OutOfRangeError',
    'ReadOnlyError', 'SChunk', 'ShardCache', 'StaleError', 'TreeStore', 'UnsupportedError', 'VLMeta', 'WrongArrayError', 'ZipStore', 'blobStore',
    'field', 'floats', 'gzipStream', 'httpStore', 'originPrivate', 'parseLocation', 'platformCodecs', 'zipStore', 'zlibStream',
  ]);
  equal(Object.keys(node).sort(), ['FileStore', 'NodeFileSystem', 'codecs', 'containerFile', 'fileStore', 'lockers']);
});
