import { InvalidError } from './errors.js';
import { integers } from './request.js';
const mask = (1n << 64n) - 1n;
function* pcg(hi, lo) {
    for (let state = (hi << 64n) | lo;;) {
        state = BigInt.asUintN(128, state * 0x2360ed051fc65da44385df649fccf645n + 0x5851f42d4c957f2d14057b7ef767814fn);
        const low = state & mask;
        let out = state >> 64n;
        out ^= out >> 32n;
        out = (out * 0xda942042e4dd58b5n) & mask;
        out ^= out >> 48n;
        yield (out * (low | 1n)) & mask;
    }
}
export function batchesOf(count, batchSize, options) {
    const { shuffle = false, seed = 0, epoch = 0, dropLast = false, shard: [mine, shards] = [0, 1] } = options;
    integers('batchSize, epoch or shard', [batchSize, epoch, mine, shards]);
    if (batchSize < 1 || mine >= shards)
        throw new InvalidError('batches of none, or a shard that there is not');
    const order = Uint32Array.from({ length: count }, (_, i) => i);
    if (shuffle) {
        const random = pcg(BigInt.asUintN(64, BigInt(seed)), BigInt(epoch));
        for (let i = count - 1; i > 0; i--) {
            const j = Number((random.next().value * BigInt(i + 1)) >> 64n);
            [order[i], order[j]] = [order[j], order[i]];
        }
    }
    const own = shards === 1 ? order : order.filter((_, i) => i % shards === mine);
    const batches = [];
    for (let at = 0; at + (dropLast ? batchSize : 1) <= own.length; at += batchSize)
        batches.push(own.slice(at, at + batchSize));
    return batches;
}
