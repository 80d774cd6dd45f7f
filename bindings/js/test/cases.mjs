// What the binding has to do, wherever it runs: Node now, pages too. A case
// gets `env`: the package (`lib`), `load(options)`, the store of the fixtures
// and their manifest, `zstd` of numcodecs, and `serve(objects)`, an HTTP server
// that counts. What was loaded and served is closed when the case is over.
import { codecs } from './cases/codecs.mjs';
import { faults } from './cases/faults.mjs';
import { fixtures } from './cases/fixtures.mjs';
import { http } from './cases/http.mjs';
import { reading } from './cases/reading.mjs';
import { sharing } from './cases/sharing.mjs';

export const cases = { ...reading, ...fixtures, ...sharing, ...faults, ...codecs, ...http };
