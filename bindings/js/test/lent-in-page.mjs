// Codecs as a module exports them, for a page, whose workers know no bare names.
export { default as zstd } from '/modules/numcodecs/dist/zstd.js';
