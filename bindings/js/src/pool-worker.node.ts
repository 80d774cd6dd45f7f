/// <reference types="node" />
// What a worker of a pool runs, in Node.
import { parentPort } from 'node:worker_threads';

import './index.node.js';
import { serveGuest } from './pool-server.js';

serveGuest({
  send: (message, transfer = []) => parentPort!.postMessage(message, transfer as never),
  listen: (hear) => {
    parentPort!.on('message', hear);
  },
  end: () => {},
  hold: () => {},
});
