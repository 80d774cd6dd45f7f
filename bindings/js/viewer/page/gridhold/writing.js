import { InvalidError } from './errors.js';
import { integers } from './request.js';
const filters = { nofilter: 0, shuffle: 1, bitshuffle: 2, delta: 3, trunc_prec: 4, bytedelta: 35 };
export const modes = { x: {}, w: { replace: true }, a: { or_open: true } };
let copies = 0;
export function copying(core, target, options) {
    const { mode = 'x', contiguous = core.state.contiguous ?? true, checksums = false, chunks, blocks } = options;
    for (const [what, numbers] of Object.entries({ chunks, blocks }))
        integers(what, numbers ?? []);
    const { systems } = core.gridhold;
    const fs = target === undefined ? 0 : systems.acquire(target.files);
    const place = { fs, name: target?.name ?? `copy-${++copies}`, ...how(options) };
    return {
        deed: { do: 'copy', ...packing(options.cparams), ...place, ...modes[mode], sparse: !contiguous, checksums, chunks, blocks },
        name: place.name,
        release: () => {
            if (target !== undefined)
                systems.release(fs);
        },
        again: target === undefined ? undefined : { ...place, write: true },
    };
}
export function how({ durability = 'close', locking, lockTimeout = 0, lockNetwork = false }) {
    const said = { true: 'always', false: 'never', if_possible: 'if_possible' }[`${locking ?? lockingOf()}`];
    if (said === undefined)
        throw new InvalidError(`locking: ${locking}: true, false or 'if_possible' is needed`);
    integers('lockTimeout', [lockTimeout]);
    return { durability, locking: said, lock_timeout_ms: lockTimeout, lock_network: lockNetwork };
}
function lockingOf() {
    const { process } = globalThis;
    return ['', '0'].includes(process?.env?.BLOSC_LOCKING ?? '') ? false : 'if_possible';
}
export function packing(cparams) {
    if (cparams === undefined)
        return {};
    const { codec = 'zstd', clevel = 5, filters: names = ['shuffle'], filtersMeta = [] } = cparams;
    const all = [...Array(Math.max(0, 6 - names.length)).fill('nofilter'), ...names];
    const metas = [...Array(Math.max(0, 6 - names.length)).fill(0), ...filtersMeta];
    return { codec, level: clevel, filters: all.map((name, i) => [filters[name], metas[i] ?? 0]) };
}
