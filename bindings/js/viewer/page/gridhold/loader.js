import { IOError, InvalidError } from './errors.js';
import { withMemoryMaximum } from './maximum.js';
import { platform } from './platform.js';
const shipped = new URL('./gridhold.wasm', import.meta.url);
export async function compile(source, memory) {
    if (source instanceof WebAssembly.Module)
        return source;
    const bytes = await bytesOf(source ?? shipped);
    return WebAssembly.compile(withMemoryMaximum(bytes, memory));
}
async function bytesOf(source) {
    if (source instanceof Uint8Array)
        return source;
    if (source instanceof ArrayBuffer)
        return new Uint8Array(source);
    const base = globalThis.location?.href;
    let url;
    try {
        url = new URL(source, base);
    }
    catch (cause) {
        throw new InvalidError(`not a URL: ${source}`, { cause });
    }
    try {
        if (url.protocol === 'file:' && platform.readFile !== undefined)
            return await platform.readFile(url);
        const response = await fetch(url);
        if (!response.ok)
            throw new Error(`status ${response.status}`);
        return new Uint8Array(await response.arrayBuffer());
    }
    catch (cause) {
        throw new IOError(`${url}: ${cause.message}`, { item: url.href, cause });
    }
}
