// What Node adds, set by its entry of the package: pages have no paths.
/** Hooks of the entry for Node; none are set in a page. */
export const platform = {};
/** The path that a source is, in Node: a string without a scheme, or a URL of a file. */
export function pathOf(source) {
    if (platform.file === undefined)
        return undefined;
    if (typeof source === 'string')
        return /^(?!file:)[a-z][a-z0-9+.-]+:/i.test(source) ? undefined : unescaped(source);
    return source instanceof URL && source.protocol === 'file:' ? unescaped(source.href) : undefined;
}
function unescaped(path) {
    if (!path.startsWith('file:'))
        return path;
    const { pathname } = new URL(path);
    // As fileURLToPath: no drive has a slash before it.
    return decodeURIComponent(pathname).replace(/^\/([a-z]:)/i, '$1');
}
