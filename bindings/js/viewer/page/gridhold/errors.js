import { codeName } from './abi.js';
export class GridholdError extends Error {
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
export class NotFoundError extends coded('NotFound') {
}
export class CorruptError extends coded('Corrupt') {
}
export class UnsupportedError extends coded('Unsupported') {
}
export class StaleError extends coded('Stale') {
}
export class WrongArrayError extends coded('WrongArray') {
}
export class OutOfRangeError extends coded('OutOfRange') {
}
export class LimitError extends coded('Limit') {
}
export class LockTimeoutError extends coded('LockTimeout') {
}
export class LockedError extends coded('Locked') {
}
export class NoSpaceError extends coded('NoSpace') {
}
export class ReadOnlyError extends coded('ReadOnly') {
}
export class ClosedError extends coded('Closed') {
}
export class InvalidError extends coded('Invalid') {
}
export class CancelledError extends coded('Cancelled', 'AbortError') {
}
export class IOError extends coded('IO') {
}
export class InternalError extends coded('Internal') {
}
export class NotAllowedError extends coded('NotAllowed') {
}
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
export function errorOf(code, text, detail) {
    const name = codeName(code);
    return new (classes[name] ?? InternalError)(text, detail);
}
