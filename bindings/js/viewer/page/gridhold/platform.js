export const platform = {};
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
    return decodeURIComponent(pathname).replace(/^\/([a-z]:)/i, '$1');
}
