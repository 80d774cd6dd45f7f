import { InvalidError } from './errors.js';
export function cutPatches(image, shape, extent, centres, outside) {
    const whole = (n) => Number.isSafeInteger(n);
    if (extent.length !== shape.length || !extent.every((n) => whole(n) && n > 0)) {
        throw new InvalidError(`patches of [${extent}] from an image of [${shape}]`);
    }
    const size = extent.reduce((n, e) => n * e, outside.length);
    if (!(size * centres.length <= 2 ** 32))
        throw new InvalidError('patches of more than 4 GiB');
    const out = new Uint8Array(size * centres.length);
    for (let at = 0; at < out.length; at += outside.length)
        out.set(outside, at);
    for (const [i, centre] of centres.entries()) {
        if (centre.length !== shape.length || !centre.every(whole))
            throw new InvalidError(`a centre of [${centre}] in an image of [${shape}]`);
        const cut = (axis, to, from) => {
            const begin = centre[axis] - Math.floor(extent[axis] / 2);
            const [low, high] = [Math.max(begin, 0), Math.min(begin + extent[axis], shape[axis])];
            if (low >= high)
                return;
            const step = to.length / extent[axis];
            const rows = from.length / shape[axis];
            if (axis === shape.length - 1)
                return to.set(from.subarray(low * rows, high * rows), (low - begin) * step);
            for (let k = low; k < high; k++)
                cut(axis + 1, to.subarray((k - begin) * step, (k - begin + 1) * step), from.subarray(k * rows, (k + 1) * rows));
        };
        cut(0, out.subarray(i * size, (i + 1) * size), image);
    }
    return out;
}
