import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { type Ran, run } from '../../testing/run-process.js';
import { program, startBerth } from './berth.fixture.js';

// In a directory where no `berth up` has run.
const berth = (...words: string[]): Promise<Ran> => startBerth(words, { cwd: tmpdir() }).ended;

describe('berth', () => {
  it('prints its version for people and for programs', async () => {
    expect((await berth('version')).stdout).toMatch(/^berth \d+\.\d+\.\d+ \(node \d+\.\d+\.\d+\)\n$/);
    expect(JSON.parse((await berth('version', '-o', 'json')).stdout)).toMatchObject({
      node: process.versions.node,
    });
    expect(await berth('--version')).toMatchObject({ status: 0, stderr: '' });
  });

  it('shows help, of everything or of one command', async () => {
    expect((await berth('help')).stdout).toContain('Commands:');
    expect(await berth('help', 'version')).toMatchObject({ status: 0, stderr: '' });
    expect((await berth('help', 'version')).stdout).toContain('--output');
  });

  it('does not mind a reader that leaves, and says when its output cannot be written', async () => {
    expect(await run('sh', ['-c', `"$0" "$1" version | true`, process.execPath, program])).toMatchObject({
      stderr: '',
    });
    const full = await run('sh', ['-c', `"$0" "$1" version > /dev/full`, process.execPath, program]);
    expect(full).toMatchObject({ status: 1 });
    expect(full.stderr).toMatch(/^error: cannot write to standard output: .*\n$/);
  });

  it.each([
    { words: ['versoin'], says: 'Did you mean version?' },
    { words: ['version', '-o', 'xml'], says: 'Allowed choices are json' },
    { words: ['help', 'nope'], says: "unknown command 'nope'" },
    { words: ['--nope'], says: "unknown option '--nope'" },
  ])('answers $words with one clear message and exit code 64', async ({ words, says }) => {
    const ran = await berth(...words);
    expect(ran).toMatchObject({ status: 64, stdout: '' });
    expect(ran.stderr).toContain(says);
    expect(ran.stderr).not.toContain('    at ');
  });
});
