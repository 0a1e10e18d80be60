import { describe, expect, it } from 'vitest';
import { fixturePath, type Ran, run } from '../../testing/strace.js';

const berth = (...words: string[]): Promise<Ran> =>
  run(process.execPath, [fixturePath(import.meta.url, 'berth.js'), ...words]);

describe('berth', () => {
  it('prints its version for people and for programs', async () => {
    expect((await berth('version')).stdout).toMatch(/^berth \d+\.\d+\.\d+ \(node \d+\.\d+\.\d+\)\n$/);
    expect(JSON.parse((await berth('version', '-o', 'json')).stdout)).toMatchObject({
      node: process.versions.node,
    });
    expect(await berth('--version')).toMatchObject({ status: 0, stderr: '' });
  });

  it.each([
    { words: ['versoin'], says: 'Did you mean version?' },
    { words: ['version', '-o', 'xml'], says: 'Allowed choices are json' },
    { words: ['--nope'], says: "unknown option '--nope'" },
  ])('answers $words with one clear message and exit code 64', async ({ words, says }) => {
    const ran = await berth(...words);
    expect(ran).toMatchObject({ status: 64, stdout: '' });
    expect(ran.stderr).toContain(says);
    expect(ran.stderr).not.toContain('    at ');
  });
});
