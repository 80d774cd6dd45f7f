import { ABI, Answer, Code, Kind, Mailbox, Result, Run, State, codeName } from './abi.js';
import { ClosedError, GridholdError, InternalError, UnsupportedError, errorOf } from './errors.js';
import { Io } from './io.js';
import { Memory } from './memory.js';
import { Pacer } from './pacer.js';
import { Wasi } from './wasi.js';
const BUDGET = 8000;
const STALLS = 10;
export class Guest {
    #exports;
    #memory;
    #wasi;
    #io;
    #mailbox = 0;
    #pacer = new Pacer(() => this.#turn());
    #waiting = [];
    #running = new Map();
    #abandoned = [];
    #completions = [];
    #stalls = 0;
    #death;
    constructor(exports, memory, wasi, io) {
        this.#exports = exports;
        this.#memory = memory;
        this.#wasi = wasi;
        this.#io = io;
    }
    static async start(module, cap, outside) {
        let instance;
        const memory = new Memory(() => instance.exports.memory.buffer);
        const wasi = new Wasi(memory);
        const io = new Io(memory, outside, (token, n) => guest.#completed(token, n));
        const imports = { wasi_snapshot_preview1: wasi.imports(module), gridhold: io.imports() };
        instance = await WebAssembly.instantiate(module, imports);
        const guest = new Guest(instance.exports, memory, wasi, io);
        guest.#begin(cap);
        return guest;
    }
    get usable() {
        return this.#death === undefined && this.#memory.u32(this.#mailbox + Mailbox.panics) === 0;
    }
    get memorySize() {
        return this.#memory.size;
    }
    run(kind, request, signal) {
        return new Promise((resolve, reject) => {
            if (signal?.aborted)
                return reject(signal.reason);
            if (this.#death !== undefined)
                return reject(this.#death);
            const op = { kind, request, id: 0, resolve, reject };
            if (signal !== undefined) {
                const leave = () => {
                    this.#leave(op);
                    reject(signal.reason);
                };
                signal.addEventListener('abort', leave, { once: true });
                op.resolve = (reply) => {
                    signal.removeEventListener('abort', leave);
                    resolve(reply);
                };
                op.reject = (error) => {
                    signal.removeEventListener('abort', leave);
                    reject(error);
                };
            }
            this.#waiting.push(op);
            this.#pacer.soon();
        });
    }
    close() {
        this.#die(new ClosedError('gridhold: closed'));
    }
    #begin(cap) {
        const e = this.#exports;
        this.#enter(() => e._initialize());
        const abi = this.#enter(() => e.gh_abi()) >>> 0;
        const [major, minor] = [abi >>> 16, abi & 0xffff];
        if (major !== ABI.major || minor < ABI.minor) {
            throw new UnsupportedError(`gridhold: the guest speaks ABI ${major}.${minor}, this host ${ABI.major}.${ABI.minor}`);
        }
        this.#mailbox = this.#enter(() => e.gh_mailbox()) >>> 0;
        const request = new TextEncoder().encode(JSON.stringify({ memory: cap }));
        const code = this.#ask(request, (ptr) => e.gh_configure(ptr, request.length));
        if (code < 0)
            throw errorOf(code, `gridhold: ${cap} bytes of memory: ${codeName(code)}`);
    }
    #turn() {
        if (this.#death !== undefined)
            return;
        try {
            for (const id of this.#abandoned.splice(0))
                this.#enter(() => this.#exports.gh_drop(id));
            this.#startWaiting();
            const said = this.#run();
            if (this.#death !== undefined)
                return;
            this.#io.begin();
            this.#plan(said);
        }
        catch (error) {
            this.#die(error instanceof GridholdError ? error : this.#internal(error));
        }
    }
    #startWaiting() {
        for (let op = this.#waiting[0]; op !== undefined; op = this.#waiting[0]) {
            const { kind, request } = op;
            const id = this.#ask(request, (ptr) => this.#exports.gh_start(kind, ptr, request.length));
            this.#waiting.shift();
            if (id > 0) {
                op.id = id;
                this.#running.set(id, op);
            }
            else {
                op.reject(errorOf(id, `gridhold: ${kindName(kind)}: ${codeName(id)}`));
            }
        }
    }
    #run() {
        for (;;) {
            const batch = this.#completions.splice(0, this.#memory.u32(this.#mailbox + Mailbox.cqCap));
            const v = this.#memory.view();
            let at = v.getUint32(this.#mailbox + Mailbox.cqPtr, true);
            for (const { token, n } of batch) {
                v.setUint32(at, token, true);
                v.setInt32(at + 4, n, true);
                at += 8;
            }
            const said = this.#enter(() => this.#exports.gh_run(batch.length, BUDGET)) >>> 0;
            if (said === Run.reentered)
                throw new InternalError('gridhold: the guest was entered twice');
            for (const id of this.#ended())
                this.#finish(id);
            if (this.#completions.length === 0)
                return said;
        }
    }
    #ended() {
        const v = this.#memory.view();
        const list = v.getUint32(this.#mailbox + Mailbox.donePtr, true);
        const ids = [];
        for (let i = v.getUint32(this.#mailbox + Mailbox.done, true) - 1; i >= 0; i--)
            ids[i] = v.getUint32(list + 4 * i, true);
        return ids;
    }
    #plan(said) {
        this.#stalls = said === Run.stalled ? this.#stalls + 1 : 0;
        if (this.#stalls > STALLS)
            throw new InternalError('gridhold: the guest makes no progress');
        if (this.#completions.length > 0 || this.#abandoned.length > 0)
            this.#pacer.soon();
        else if (said === Run.more)
            this.#pacer.later(0);
        else if (said === Run.stalled)
            this.#pacer.later(1);
    }
    #finish(id) {
        const op = this.#running.get(id);
        if (op === undefined)
            return;
        const at = this.#enter(() => this.#exports.gh_result(id)) >>> 0;
        if (at === 0)
            throw new InternalError('gridhold: an operation that ended has no result');
        const u32 = (field) => this.#memory.u32(at + field);
        if (u32(Result.state) === State.ok) {
            const length = u32(Result.kind) === Answer.none ? 0 : u32(Result.len);
            op.resolve({ bytes: this.#memory.bytes(u32(Result.ptr), length).slice(), object: u32(Result.object) });
        }
        else {
            const code = this.#memory.view().getInt32(at + Result.code, true);
            op.reject(this.#error(code, this.#memory.text(u32(Result.detailPtr), u32(Result.detailLen))));
        }
        this.#running.delete(id);
        this.#enter(() => this.#exports.gh_drop(id));
    }
    #error(code, detail) {
        if (detail === '')
            return errorOf(code, `gridhold: ${codeName(code)}`);
        const { format, item, off, text } = JSON.parse(detail);
        const offset = off === undefined || off < 0 ? undefined : off;
        return errorOf(code, text, { format, item, offset, cause: this.#io.causeOf(text) });
    }
    #completed(token, n) {
        if (this.#death !== undefined)
            return;
        this.#completions.push({ token, n });
        this.#pacer.soon();
    }
    #leave(op) {
        if (op.id === 0) {
            this.#waiting = this.#waiting.filter((other) => other !== op);
            return;
        }
        this.#running.delete(op.id);
        this.#abandoned.push(op.id);
        this.#pacer.soon();
    }
    #ask(request, call) {
        const own = this.#mailbox === 0 || request.length > this.#memory.u32(this.#mailbox + Mailbox.reqCap);
        const ptr = own
            ? this.#enter(() => this.#exports.gh_alloc(request.length)) >>> 0
            : this.#memory.u32(this.#mailbox + Mailbox.reqPtr);
        if (ptr === 0)
            return Code.Limit;
        this.#memory.bytes(ptr, request.length).set(request);
        try {
            return this.#enter(() => call(ptr));
        }
        finally {
            if (own && this.#death === undefined)
                this.#enter(() => this.#exports.gh_free(ptr));
        }
    }
    #enter(call) {
        try {
            return call();
        }
        catch (thrown) {
            const error = this.#internal(thrown);
            this.#die(error);
            throw error;
        }
    }
    #internal(cause) {
        const words = this.#wasi.lastWords.split('\n').find((line) => /^(panic|fatal error|runtime):/.test(line));
        const what = cause instanceof Error ? cause.message : String(cause);
        return new InternalError(`gridhold: the guest died: ${words ?? what}`, { cause });
    }
    #die(error) {
        if (this.#death !== undefined)
            return;
        this.#death = error;
        const left = [...this.#running.values(), ...this.#waiting];
        this.#running.clear();
        this.#waiting = [];
        this.#completions = [];
        this.#io.abandon();
        for (const op of left)
            op.reject(error);
    }
}
function kindName(kind) {
    return Object.entries(Kind).find(([, value]) => value === kind)?.[0] ?? String(kind);
}
