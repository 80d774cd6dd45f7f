// What the binding has to do, wherever it runs: Node now, pages too. A case
// gets `env`: the package (`lib`), `load(options)`, the store of the fixtures
// with `manifest` and `corrupt`, the lists of what is in it, `zstd` of numcodecs, and `serve(objects)`, an HTTP server
// that counts. What was loaded and served is closed when the case is over.
import { codecs } from './cases/codecs.mjs';
import { batches } from './cases/batches.mjs';
import { faults } from './cases/faults.mjs';
import { fixtures } from './cases/fixtures.mjs';
import { http } from './cases/http.mjs';
import { reading } from './cases/reading.mjs';
import { sharing } from './cases/sharing.mjs';
import { types } from './cases/types.mjs';

export const cases = { ...reading, ...fixtures, ...types, ...batches, ...sharing, ...faults, ...codecs, ...http };
