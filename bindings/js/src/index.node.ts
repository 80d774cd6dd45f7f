/// <reference types="node" />
// What the bare name means in Node: the same, and the guest is read from its file.
import { readFile } from 'node:fs/promises';

import { platform } from './loader.js';

platform.readFile = (url) => readFile(url);

export * from './index.js';
