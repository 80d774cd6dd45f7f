/// <reference types="node" />
// What the bare name means in Node: the same, and files are read by their paths.
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';

import { NotFoundError } from './errors.js';
import { fileStore } from './file-store.js';
import { containerFile } from './node.js';
import { platform } from './platform.js';

platform.readFile = (url) => readFile(url);
platform.directory = (path) => {
  if (!existsSync(path)) throw new NotFoundError(`${path}: there is no such directory`, { item: path });
  return fileStore(path);
};
platform.file = (path) => containerFile(path);
platform.worker = () => {
  const worker = new Worker(new URL('./pool-worker.node.js', import.meta.url));
  worker.unref();
  return {
    send: (message, transfer = []) => worker.postMessage(message, transfer as never),
    listen(hear, broken) {
      worker.on('message', hear);
      worker.on('error', broken);
    },
    end: () => void worker.terminate(),
    hold: (held) => (held ? worker.ref() : worker.unref()),
  };
};

export * from './index.js';
