const HELD = 10;
const IDLE = 2;
export class Pacer {
    #turn;
    #planned = false;
    #began = 0;
    #last = -Infinity;
    constructor(turn) {
        this.#turn = turn;
    }
    soon() {
        if (this.#planned)
            return;
        this.#planned = true;
        const now = performance.now();
        if (now - this.#last > IDLE)
            this.#began = now;
        if (now - this.#began > HELD)
            task(() => this.#run());
        else
            queueMicrotask(() => this.#run());
    }
    later(ms) {
        if (this.#planned)
            return;
        this.#planned = true;
        if (ms > 0)
            setTimeout(() => this.#run(), ms);
        else
            task(() => this.#run());
    }
    #run() {
        this.#planned = false;
        const now = performance.now();
        if (now - this.#began > HELD)
            this.#began = now;
        this.#turn();
        this.#last = performance.now();
    }
}
const task = globalThis.setImmediate ??
    ((run) => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => {
            port1.close();
            run();
        };
        port2.postMessage(null);
    });
