// Codecs as a module exports them, for Node.
export { default as zstd } from 'numcodecs/zstd';
