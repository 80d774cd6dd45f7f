// Puts the guest beside the compiled binding, where `new URL` finds it.
import { copyFileSync } from 'node:fs';

copyFileSync(new URL('../../../wasm/gridhold.wasm', import.meta.url), new URL('../dist/gridhold.wasm', import.meta.url));
