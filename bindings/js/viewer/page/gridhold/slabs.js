export function slabsOf(start, stop, chunk, most) {
    const axis = start.findIndex((at, i) => stop[i] - at > 1);
    if (chunk === undefined || axis < 0)
        return [[start, stop]];
    const [from, to, length] = [start[axis], stop[axis], chunk[axis]];
    const first = Math.floor(from / length);
    const count = Math.ceil(to / length) - first;
    const parts = Math.min(most, count);
    const edge = (k) => Math.min(to, Math.max(from, (first + Math.floor((k * count) / parts)) * length));
    const moved = (box, at) => box.map((n, i) => (i === axis ? at : n));
    return Array.from({ length: parts }, (_, k) => [moved(start, edge(k)), moved(stop, edge(k + 1))]);
}
export function joined(parts) {
    const whole = new Uint8Array(parts.reduce((n, part) => n + part.length, 0));
    let at = 0;
    for (const part of parts) {
        whole.set(part, at);
        at += part.length;
    }
    return whole;
}
