export function costOf(told) {
    const camel = (name) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
    return Object.fromEntries(Object.entries(told).map(([name, n]) => [camel(name), n]));
}
