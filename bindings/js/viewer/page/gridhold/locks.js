import { Lock, Stat } from './abi.js';
import { ClosedError, LockedError, UnsupportedError } from './errors.js';
export class Locks {
    #memory;
    #system;
    #held = new Map();
    #last = 0;
    constructor(memory, system) {
        this.#memory = memory;
        this.#system = system;
    }
    close() {
        for (const { lock } of this.#held.values())
            quietly(lock);
        this.#held.clear();
    }
    async lock(req, into, signal, check) {
        const u32 = (field) => this.#memory.u32(req + field);
        const wanted = {
            system: this.#system(u32(Lock.fs)),
            name: this.#memory.text(u32(Lock.name), u32(Lock.nameLen)),
            owner: this.#memory.view().getBigUint64(req + Lock.owner, true),
            exclusive: u32(Lock.mode) === Lock.exclusive,
        };
        const { system, name, exclusive } = wanted;
        if (system.lock === undefined)
            throw new UnsupportedError(`lock: ${name}: the file system has no locks`, { item: name });
        if ([...this.#held.values()].some((held) => waitsFor(wanted, held))) {
            throw new LockedError(`lock: ${name}: held by the same owner, who would wait for himself`, { item: name });
        }
        const lock = await system.lock(name, exclusive, signal);
        try {
            check();
        }
        catch (released) {
            quietly(lock);
            throw released;
        }
        this.#held.set(++this.#last, { ...wanted, lock });
        this.#memory.view().setUint32(into + Stat.id, this.#last, true);
        return 0;
    }
    unlock(id) {
        const held = this.#held.get(id);
        if (held === undefined)
            throw new ClosedError('lock: unlocked twice');
        this.#held.delete(id);
        held.lock.release();
        return 0;
    }
}
function waitsFor(wanted, held) {
    const same = held.owner === wanted.owner && held.system === wanted.system && held.name === wanted.name;
    return same && (held.exclusive || wanted.exclusive);
}
function quietly(lock) {
    try {
        lock.release();
    }
    catch {
    }
}
