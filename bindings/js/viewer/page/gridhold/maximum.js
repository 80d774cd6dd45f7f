import { CorruptError, LimitError } from './errors.js';
export const DEFAULT_MEMORY = 512 * 1024 * 1024;
const PAGE = 65536;
const SECTION_MEMORY = 5;
const HAS_MAXIMUM = 1;
export function withMemoryMaximum(module, bytes) {
    const section = findSection(module, SECTION_MEMORY);
    let at = section.body;
    const count = readU32(module, at);
    at = count.next;
    const flags = readU32(module, at);
    if (count.value !== 1 || flags.value > HAS_MAXIMUM) {
        throw new CorruptError('wasm: a module with one plain memory is wanted');
    }
    const minimum = readU32(module, flags.next);
    const maximum = flags.value & HAS_MAXIMUM ? readU32(module, minimum.next).value : PAGE;
    const pages = Math.min(maximum, Math.floor(bytes / PAGE));
    if (minimum.value > pages) {
        throw new LimitError(`wasm: the guest starts with ${minimum.value * PAGE} bytes of memory, ${bytes} are allowed`);
    }
    const body = [1, HAS_MAXIMUM, ...u32(minimum.value), ...u32(pages)];
    const made = [SECTION_MEMORY, ...u32(body.length), ...body];
    const out = new Uint8Array(section.start + made.length + (module.length - section.end));
    out.set(module.subarray(0, section.start));
    out.set(made, section.start);
    out.set(module.subarray(section.end), section.start + made.length);
    return out;
}
function findSection(module, id) {
    if (module.length < 8 || module[0] !== 0 || module[1] !== 0x61 || module[2] !== 0x73 || module[3] !== 0x6d) {
        throw new CorruptError('wasm: not a WebAssembly module');
    }
    for (let at = 8; at < module.length;) {
        const length = readU32(module, at + 1);
        const end = length.next + length.value;
        if (end > module.length)
            break;
        if (module[at] === id)
            return { start: at, body: length.next, end };
        at = end;
    }
    throw new CorruptError('wasm: the module is cut short or has no memory');
}
function readU32(bytes, at) {
    let value = 0;
    for (let i = 0; i < 5; i++) {
        const byte = bytes[at + i];
        if (byte === undefined)
            break;
        value += (byte & 0x7f) * 2 ** (7 * i);
        if (byte < 0x80)
            return { value, next: at + i + 1 };
    }
    throw new CorruptError('wasm: a damaged number in the module');
}
function u32(value) {
    const out = [];
    for (; value > 0x7f; value = Math.floor(value / 128))
        out.push((value % 128) | 0x80);
    out.push(value);
    return out;
}
