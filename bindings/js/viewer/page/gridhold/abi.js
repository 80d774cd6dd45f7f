export const ABI = { major: 1, minor: 2 };
export const PENDING = -0x8000_0000;
export const Kind = {
    open: 1,
    close: 2,
    cacheNew: 3,
    cacheStats: 4,
    cacheClear: 5,
    cacheInvalidate: 6,
    readSubchunk: 7,
    readEncoded: 8,
    readRegion: 9,
    shardTable: 10,
    verify: 12,
    list: 13,
    readSubchunks: 15,
    locateSubchunks: 16,
    containerOpen: 17,
    containerCreate: 18,
    containerRead: 19,
    containerWrite: 20,
    containerDo: 21,
    imagesOpen: 22,
    imagesRead: 23,
    tableRead: 24,
    scratchOpen: 25,
    scratchRead: 26,
    scratchDo: 28,
};
export const Run = { idle: 0, more: 1, stalled: 2, reentered: 3 };
export const State = { running: 1, ok: 2, failed: 3, panicked: 4 };
export const Answer = { none: 0, bytes: 1, json: 2, located: 3 };
export const Mailbox = {
    live: 12,
    done: 16,
    donePtr: 20,
    cqPtr: 28,
    cqCap: 32,
    panics: 36,
    reqPtr: 44,
    reqCap: 48,
    status: 52,
    result: 56,
};
export const Result = { state: 0, code: 4, kind: 8, ptr: 12, len: 16, detailPtr: 20, detailLen: 24, object: 28 };
export const Read = { store: 0, flags: 4, key: 8, keyLen: 12, ver: 16, verLen: 20, ranges: 24, n: 28 };
export const Range = { off: 0, len: 8, buf: 16, cap: 20, n: 24, size: 32 };
export const List = { store: 0, prefix: 4, prefixLen: 8, buf: 12, cap: 16 };
export const Fetch = {
    method: 0,
    methodLen: 4,
    url: 8,
    urlLen: 12,
    header: 16,
    headerLen: 20,
    body: 24,
    bodyCap: 28,
    answer: 32,
    answerCap: 36,
    status: 40,
    answerLen: 44,
    flags: 48,
};
export const FETCH_CUT = 1;
export const Info = { size: 0, need: 32, verLen: 44, ver: 48, verCap: 128, id: 176, minLen: 180 };
export const Path = { fs: 0, flags: 4, name: 8, nameLen: 12, to: 16, toLen: 20, buf: 24, cap: 28 };
export const Stat = { size: 0, kind: 56, id: 60, isFile: 1, isDirectory: 2, isNetwork: 1 };
export const Lock = { fs: 0, mode: 4, name: 8, nameLen: 12, owner: 16, exclusive: 2 };
export const ContainerRead = { slice: 0, bytes: 1, chunk: 2, encoded: 3, vlmeta: 4, metalayer: 5, frame: 6, little: 256 };
export const ContainerWrite = {
    slice: 0,
    append: 1,
    addChunk: 2,
    insert: 3,
    update: 4,
    delete: 5,
    resize: 6,
    special: 7,
    vlmeta: 8,
    metalayer: 9,
    dropVlmeta: 10,
};
export const Code = {
    NotFound: -1,
    Corrupt: -2,
    Unsupported: -3,
    Stale: -4,
    WrongArray: -5,
    OutOfRange: -6,
    Limit: -7,
    LockTimeout: -8,
    Locked: -9,
    NoSpace: -10,
    ReadOnly: -11,
    Closed: -12,
    Invalid: -13,
    Cancelled: -14,
    IO: -15,
    Internal: -16,
    TooSmall: -17,
    NotAllowed: -18,
    Exists: -19,
};
const names = new Map(Object.entries(Code).map(([name, code]) => [code, name]));
export function codeName(code) {
    return names.get(code) ?? 'IO';
}
