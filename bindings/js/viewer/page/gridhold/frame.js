// Sequences and arrays in Blosc2 frames, by the names of python-blosc2.
import { ContainerRead, ContainerWrite } from './abi.js';
import { Container } from './container.js';
import { copying } from './writing.js';
import { InvalidError } from './errors.js';
import { numpyType } from './numpy.js';
import { integers } from './request.js';
import { ndArray } from './values.js';
/** What sequences and arrays have in common. */
export class Frame extends Container {
    /** Bytes of an item. */
    get typesize() {
        return this.core.state.typesize;
    }
    /** Bytes of a chunk; 0 where they vary, -1 before the first. */
    get chunksize() {
        return this.core.state.chunksize;
    }
    /** How many chunks there are. */
    get nchunks() {
        return this.core.state.nchunks;
    }
    /** Bytes of all items. */
    get nbytes() {
        return this.core.state.nbytes;
    }
    /** Bytes that they take, packed. */
    get cbytes() {
        return this.core.state.cbytes;
    }
    /** The decoded bytes of a chunk. */
    decompressChunk(nchunk, options) {
        return this.core.read(ContainerRead.chunk, integers('chunk', [nchunk]), options);
    }
    /** A chunk as it is stored. */
    getChunk(nchunk, options) {
        return this.core.read(ContainerRead.encoded, integers('chunk', [nchunk]), options);
    }
    /** All of it as the bytes of one frame. */
    toCframe(options) {
        return this.core.read(ContainerRead.frame, [], options);
    }
    /** The decoded bytes of all chunks in turn. */
    async *iterChunks(options) {
        for (let i = 0; i < this.nchunks; i++)
            yield await this.decompressChunk(i, options);
    }
    /**
     * A copy that is open: in a file, or without one in the instance's memory, with which it goes. Metalayers come along;
     * what is not said is as it is here. Rejects with ExistsError.
     */
    async copy(target, options = {}) {
        const { deed, name, release, again } = copying(this.core, target, options);
        return this.like(await this.core.made(deed, options, name, release, again));
    }
    /** Keeps a CRC-32C of each chunk in a metalayer, for `verify`, or no longer; python-blosc2 minds neither. */
    keepChecksums(keep = true, options) {
        return this.core.change({ do: 'checksums', keep }, options);
    }
    /**
     * Puts back the state that this handle last saw, where another program has written an old header over it. Rejects with
     * NotFoundError where it found no such thing, StaleError where the bytes do not allow it.
     */
    repair(options) {
        return this.core.change({ do: 'repair' }, options);
    }
    /** Writes it anew without what changes have left behind. */
    async compact(options) {
        await this.core.change({ do: 'compact' }, options);
    }
}
/** A sequence of items in chunks. */
export class SChunk extends Frame {
    /** Whole items. */
    get length() {
        return Math.floor(this.nbytes / this.typesize);
    }
    /** The bytes of items. */
    getSlice(span = {}, options) {
        return this.core.read(ContainerRead.slice, triple(span, this.length), options);
    }
    /** Replaces the items from `start` on. */
    setSlice(start, items, options) {
        return this.core.write(ContainerWrite.slice, integers('start', [start]), bytesOf(items), options);
    }
    /** Adds items at the end: fills up the last chunk, then makes others. */
    append(items, options) {
        return this.core.write(ContainerWrite.append, [], bytesOf(items), options);
    }
    /** Adds a chunk at the end. */
    appendData(items, options) {
        return this.core.write(ContainerWrite.addChunk, [], bytesOf(items), options);
    }
    /** Puts a chunk before another one. */
    insertData(nchunk, items, options) {
        return this.core.write(ContainerWrite.insert, integers('chunk', [nchunk]), bytesOf(items), options);
    }
    /** Replaces a chunk. */
    updateData(nchunk, items, options) {
        return this.core.write(ContainerWrite.update, integers('chunk', [nchunk]), bytesOf(items), options);
    }
    deleteChunk(nchunk, options) {
        return this.core.write(ContainerWrite.delete, integers('chunk', [nchunk]), new Uint8Array(), options);
    }
}
/** An array of any number of axes, in chunks that are boxes, of blocks that are boxes. */
export class NDArray extends Frame {
    get shape() {
        return [...this.core.state.shape];
    }
    /** Items of a chunk along each axis. */
    get chunks() {
        return [...this.core.state.chunks];
    }
    /** Items of a block along each axis. */
    get blocks() {
        return [...this.core.state.blocks];
    }
    /** As NumPy writes it: `"<f4"`. */
    get dtype() {
        return this.core.state.dtype;
    }
    /**
     * Items in C order, as `GridArray` gives them; of structs and what else JavaScript lacks, their bytes. A span for each
     * axis, or fewer: of the others all. A number keeps its axis, of length 1.
     */
    async slice(spans = [], options) {
        const numbers = this.#numbers(spans);
        const type = numpyType(this.dtype, this.typesize);
        const bytes = await this.core.read(ContainerRead.slice | ContainerRead.little, numbers, options);
        return ndArray(bytes, counts(numbers), type);
    }
    /** Replaces items, which are in C order and as the array stores them. One commit. */
    setSlice(spans, items, options) {
        return this.core.write(ContainerWrite.slice, this.#numbers(spans), bytesOf(items), options);
    }
    /** Adds slices along an axis. */
    append(items, axis = 0, options) {
        return this.core.write(ContainerWrite.append, integers('axis', [axis]), bytesOf(items), options);
    }
    /** Another shape; what it grows by is zero. */
    resize(shape, options) {
        return this.core.write(ContainerWrite.resize, integers('shape', shape), new Uint8Array(), options);
    }
    /** Takes axes of one item out, those or all. The container is changed, not copied; other handles see a StaleError. */
    async squeeze(axes, options) {
        const list = axes === undefined ? [] : places(axes, this.shape.length);
        if (axes === undefined || list.length > 0)
            await this.core.change({ do: 'squeeze', axes: list }, options);
    }
    /** Puts axes of one item in, at those places of the axes that there are afterwards. As `squeeze` otherwise. */
    expandDims(axes, options) {
        const count = typeof axes === 'number' ? 1 : axes.length;
        return this.core.change({ do: 'expand', axes: places(axes, this.shape.length + count) }, options);
    }
    #numbers(spans) {
        const { shape } = this;
        if (spans.length > shape.length)
            throw new InvalidError(`slice: ${spans.length} spans for ${shape.length} axes`);
        return shape.flatMap((n, axis) => triple(spans[axis] ?? {}, n));
    }
}
/** Axes of `n`, which count from the end below 0. */
function places(axes, n) {
    return integers('axes', typeof axes === 'number' ? [axes] : axes).map((axis) => {
        const at = axis < 0 ? axis + n : axis;
        if (at < 0 || at >= n)
            throw new InvalidError(`axes: there is no axis ${axis} of ${n}`);
        return at;
    });
}
/** Start, stop and step of a span of `n` items, as Python counts them. */
function triple(span, n) {
    if (typeof span === 'number') {
        integers('index', [span]);
        const at = span < 0 ? span + n : span;
        return [at, at + 1, 1];
    }
    const { step = 1 } = span;
    if (step === 0)
        throw new InvalidError('slice: a step of 0');
    const [low, high] = step > 0 ? [0, n] : [-1, n - 1];
    const limit = (at, none) => at === undefined ? none : Math.min(Math.max(at < 0 ? at + n : at, low), high);
    const numbers = [limit(span.start, step > 0 ? low : high), limit(span.stop, step > 0 ? high : low), step];
    return [...integers('slice', numbers)];
}
function counts(numbers) {
    const shape = [];
    for (let i = 0; i < numbers.length; i += 3) {
        shape.push(Math.max(0, Math.ceil((numbers[i + 1] - numbers[i]) / numbers[i + 2])));
    }
    return shape;
}
export function bytesOf(items) {
    return new Uint8Array(items.buffer, items.byteOffset, items.byteLength);
}
