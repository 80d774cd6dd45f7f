import { serveGuest } from './pool-server.js';
const scope = globalThis;
serveGuest({
    send: (message, transfer = []) => scope.postMessage(message, transfer),
    listen: (hear) => {
        scope.onmessage = ({ data }) => hear(data);
    },
    end: () => { },
    hold: () => { },
});
