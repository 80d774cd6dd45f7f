// What a worker of a pool runs, in a page.

import { serveGuest } from './pool-server.js';

const scope = globalThis as unknown as {
  postMessage(message: unknown, transfer: Transferable[]): void;
  onmessage: ((event: { data: never }) => void) | null;
};

serveGuest({
  send: (message, transfer = []) => scope.postMessage(message, transfer),
  listen: (hear) => {
    scope.onmessage = ({ data }) => hear(data);
  },
  end: () => {},
  hold: () => {},
});
