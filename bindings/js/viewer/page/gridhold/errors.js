// One class of error for each code, so that callers may test with
// `instanceof` or with `.code`; nobody has to match text.
import { codeName } from './abi.js';
/** The error of every failed call. Aborted calls reject with their signal's reason instead. */
export class GridholdError extends Error {
    /** The name of the code, the same in every language. */
    code;
    format;
    item;
    offset;
    constructor(code, text, detail = {}) {
        super(text, detail.cause === undefined ? undefined : { cause: detail.cause });
        this.code = code;
        this.format = detail.format;
        this.item = detail.item;
        this.offset = detail.offset;
    }
}
function coded(code, name = `${code}Error`) {
    const made = class extends GridholdError {
        constructor(text, detail) {
            super(code, text, detail);
        }
    };
    Object.defineProperty(made.prototype, 'name', { value: name });
    return made;
}
/** There is no such array, group or object. */
export class NotFoundError extends coded('NotFound') {
}
/** Bytes contradict the format. */
export class CorruptError extends coded('Corrupt') {
}
/** Valid, but not done here. */
export class UnsupportedError extends coded('Unsupported') {
}
/** Changed between reads that must agree. */
export class StaleError extends coded('Stale') {
}
/** A cache was used with an array it does not belong to. */
export class WrongArrayError extends coded('WrongArray') {
}
/** An index outside the grid, a region outside the array. */
export class OutOfRangeError extends coded('OutOfRange') {
}
/** Over a budget, or an absurd size was claimed. */
export class LimitError extends coded('Limit') {
}
/** A lock was not obtained in time. */
export class LockTimeoutError extends coded('LockTimeout') {
}
/** Locked by another. */
export class LockedError extends coded('Locked') {
}
/** No space left. */
export class NoSpaceError extends coded('NoSpace') {
}
/** The thing may only be read. */
export class ReadOnlyError extends coded('ReadOnly') {
}
/** Used after `close()`. */
export class ClosedError extends coded('Closed') {
}
/** An argument that can never be right. */
export class InvalidError extends coded('Invalid') {
}
/** A store gave up although nobody aborted the call; `name` is `"AbortError"`. */
export class CancelledError extends coded('Cancelled', 'AbortError') {
}
/** The outside failed: 5xx, a cut line, EIO, a store that threw. */
export class IOError extends coded('IO') {
}
/** A fault of Gridhold's: the instance died. The next call runs on a fresh one. */
export class InternalError extends coded('Internal') {
}
/** 403, EACCES, or a link that leads out of a store's root. */
export class NotAllowedError extends coded('NotAllowed') {
}
/** Exists already. */
export class ExistsError extends coded('Exists') {
}
const classes = {
    NotFound: NotFoundError,
    Corrupt: CorruptError,
    Unsupported: UnsupportedError,
    Stale: StaleError,
    WrongArray: WrongArrayError,
    OutOfRange: OutOfRangeError,
    Limit: LimitError,
    LockTimeout: LockTimeoutError,
    Locked: LockedError,
    NoSpace: NoSpaceError,
    ReadOnly: ReadOnlyError,
    Closed: ClosedError,
    Invalid: InvalidError,
    Cancelled: CancelledError,
    IO: IOError,
    Internal: InternalError,
    NotAllowed: NotAllowedError,
    Exists: ExistsError,
};
/** Makes the error of a code. */
export function errorOf(code, text, detail) {
    const name = codeName(code);
    return new (classes[name] ?? InternalError)(text, detail);
}
