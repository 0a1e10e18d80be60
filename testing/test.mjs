// `npm test -- PATH…`: builds, then runs the tests whose path contains one of the words. Tests run as compiled
// code, so that the worker thread and the processes they start are the same files that ship.
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const run = (...words) => spawnSync(process.execPath, words, { cwd: root, stdio: 'inherit' }).status ?? 1;

const built = run(join(root, 'testing/build.mjs'));
if (built !== 0) process.exit(built);
const words = process.argv.slice(2).map((word) => word.replace(/\.ts$/, '.js'));
process.exit(run(join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...words));
