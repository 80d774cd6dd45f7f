export function codecModule(codecs) {
    if (codecs instanceof URL)
        return codecs.href;
    if (typeof codecs !== 'string')
        return undefined;
    return new URL(codecs, globalThis.location?.href).href;
}
