import { ContainerRead, ContainerWrite } from './abi.js';
import { Container } from './container.js';
import { copying } from './writing.js';
import { InvalidError } from './errors.js';
import { numpyType } from './numpy.js';
import { integers } from './request.js';
import { ndArray } from './values.js';
export class Frame extends Container {
    get typesize() {
        return this.core.state.typesize;
    }
    get chunksize() {
        return this.core.state.chunksize;
    }
    get nchunks() {
        return this.core.state.nchunks;
    }
    get nbytes() {
        return this.core.state.nbytes;
    }
    get cbytes() {
        return this.core.state.cbytes;
    }
    decompressChunk(nchunk, options) {
        return this.core.read(ContainerRead.chunk, integers('chunk', [nchunk]), options);
    }
    getChunk(nchunk, options) {
        return this.core.read(ContainerRead.encoded, integers('chunk', [nchunk]), options);
    }
    toCframe(options) {
        return this.core.read(ContainerRead.frame, [], options);
    }
    async *iterChunks(options) {
        for (let i = 0; i < this.nchunks; i++)
            yield await this.decompressChunk(i, options);
    }
    async copy(target, options = {}) {
        const { deed, name, release, again } = copying(this.core, target, options);
        return this.like(await this.core.made(deed, options, name, release, again));
    }
    keepChecksums(keep = true, options) {
        return this.core.change({ do: 'checksums', keep }, options);
    }
    repair(options) {
        return this.core.change({ do: 'repair' }, options);
    }
    async compact(options) {
        await this.core.change({ do: 'compact' }, options);
    }
}
export class SChunk extends Frame {
    get length() {
        return Math.floor(this.nbytes / this.typesize);
    }
    getSlice(span = {}, options) {
        return this.core.read(ContainerRead.slice, triple(span, this.length), options);
    }
    setSlice(start, items, options) {
        return this.core.write(ContainerWrite.slice, integers('start', [start]), bytesOf(items), options);
    }
    append(items, options) {
        return this.core.write(ContainerWrite.append, [], bytesOf(items), options);
    }
    appendData(items, options) {
        return this.core.write(ContainerWrite.addChunk, [], bytesOf(items), options);
    }
    insertData(nchunk, items, options) {
        return this.core.write(ContainerWrite.insert, integers('chunk', [nchunk]), bytesOf(items), options);
    }
    updateData(nchunk, items, options) {
        return this.core.write(ContainerWrite.update, integers('chunk', [nchunk]), bytesOf(items), options);
    }
    deleteChunk(nchunk, options) {
        return this.core.write(ContainerWrite.delete, integers('chunk', [nchunk]), new Uint8Array(), options);
    }
}
export class NDArray extends Frame {
    get shape() {
        return [...this.core.state.shape];
    }
    get chunks() {
        return [...this.core.state.chunks];
    }
    get blocks() {
        return [...this.core.state.blocks];
    }
    get dtype() {
        return this.core.state.dtype;
    }
    async slice(spans = [], options) {
        const numbers = this.#numbers(spans);
        const type = numpyType(this.dtype, this.typesize);
        const bytes = await this.core.read(ContainerRead.slice | ContainerRead.little, numbers, options);
        return ndArray(bytes, counts(numbers), type);
    }
    setSlice(spans, items, options) {
        return this.core.write(ContainerWrite.slice, this.#numbers(spans), bytesOf(items), options);
    }
    append(items, axis = 0, options) {
        return this.core.write(ContainerWrite.append, integers('axis', [axis]), bytesOf(items), options);
    }
    resize(shape, options) {
        return this.core.write(ContainerWrite.resize, integers('shape', shape), new Uint8Array(), options);
    }
    async squeeze(axes, options) {
        const list = axes === undefined ? [] : places(axes, this.shape.length);
        if (axes === undefined || list.length > 0)
            await this.core.change({ do: 'squeeze', axes: list }, options);
    }
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
function places(axes, n) {
    return integers('axes', typeof axes === 'number' ? [axes] : axes).map((axis) => {
        const at = axis < 0 ? axis + n : axis;
        if (at < 0 || at >= n)
            throw new InvalidError(`axes: there is no axis ${axis} of ${n}`);
        return at;
    });
}
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
