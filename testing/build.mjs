// Compiles src, bench and testing into dist, removes what dist holds of sources that are gone, and makes the program
// one that can be run: `npx berth` in the project's folder runs the file itself.
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const compiled = spawnSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', root], {
  stdio: 'inherit',
});
if (compiled.status !== 0) process.exit(compiled.status ?? 1);

const output = join(root, 'dist');
for (const file of readdirSync(output, { recursive: true })) {
  const source = String(file).replace(/(\.d\.ts|\.js|\.js\.map)$/, '.ts');
  if (source !== String(file) && !existsSync(join(root, source))) rmSync(join(output, String(file)));
}

chmodSync(join(output, 'src/cli/berth.js'), 0o755);
// Without this npx looks the program up in a cache of its own, which remembers for good that there was none if it was
// asked before the first compilation.
const link = join(root, 'node_modules/.bin/berth');
rmSync(link, { force: true });
symlinkSync('../../dist/src/cli/berth.js', link);
