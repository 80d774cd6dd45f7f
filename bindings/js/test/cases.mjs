// What the binding has to do, wherever it runs: in Node, in a page, in a
// worker. environment.mjs says what a case is given. What was loaded and
// served is closed when the case is over.
import { codecs } from './cases/codecs.mjs';
import { batches } from './cases/batches.mjs';
import { containers } from './cases/containers.mjs';
import { counting } from './cases/counting.mjs';
import { crossOrigin } from './cases/cross-origin.mjs';
import { direct } from './cases/direct.mjs';
import { faults } from './cases/faults.mjs';
import { fixtures } from './cases/fixtures.mjs';
import { http } from './cases/http.mjs';
import { images } from './cases/images.mjs';
import { pools } from './cases/pool.mjs';
import { reading } from './cases/reading.mjs';
import { sharing } from './cases/sharing.mjs';
import { sources } from './cases/sources.mjs';
import { types } from './cases/types.mjs';

export const cases = { ...reading, ...fixtures, ...types, ...batches, ...sharing, ...faults, ...codecs, ...http, ...crossOrigin, ...counting, ...containers, ...images, ...sources, ...pools, ...direct };
