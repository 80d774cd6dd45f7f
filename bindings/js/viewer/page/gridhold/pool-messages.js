import { Code } from './abi.js';
import { GridholdError, errorOf } from './errors.js';
export function told(error, thrown) {
    if (!(error instanceof GridholdError))
        return { code: 'IO', text: error instanceof Error ? error.message : String(error), detail: {}, thrown };
    const { format, item, offset } = error;
    return { code: error.code, text: error.message, detail: { format, item, offset }, thrown };
}
export function heard({ code, text, detail }, cause) {
    return errorOf(Code[code], text, cause === undefined ? detail : { ...detail, cause });
}
