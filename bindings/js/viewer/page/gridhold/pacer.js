// When the loop of an instance takes its next turn: at once, but never so
// often in a row that timers and events of the page have to wait.
/** How long turns may follow each other without a pause, in milliseconds. */
const HELD = 10;
/** After so long without a turn, in milliseconds, others have had theirs. */
const IDLE = 2;
export class Pacer {
    #turn;
    #planned = false;
    #began = 0;
    #last = -Infinity;
    constructor(turn) {
        this.#turn = turn;
    }
    /** Plans a turn: as a microtask, or as a task where turns have held the thread for long. */
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
    /** Plans a turn after at least `ms`, letting everything else go first. */
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
            this.#began = now; // this turn came as a task
        this.#turn();
        this.#last = performance.now();
    }
}
// A timer of 0 ms is stretched to 4 by browsers; a message is not.
const task = globalThis.setImmediate ??
    ((run) => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => {
            port1.close();
            run();
        };
        port2.postMessage(null);
    });
