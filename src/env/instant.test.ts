import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { scratchDirectory } from '../../testing/scratch.js';
import { monotonicInstant, msBetween, plusMs, wallInstant, wallTimestamp } from './instant.js';

/** The numbers of the lines that the compiler refuses. */
function refusedLines(lines: readonly string[]): number[] {
  const scratch = scratchDirectory('types');
  const instants = join(dirname(fileURLToPath(import.meta.url)), 'instant.js');
  const header = `import * as i from './${relative(scratch.path, instants)}';
declare const mono: i.MonotonicInstant; declare const boot: i.BootInstant; declare const wall: i.WallInstant;`;
  writeFileSync(join(scratch.path, 'mixed.ts'), `${header}\n${lines.join('\n')}\n`);
  const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');
  const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2023', '--ignoreConfig'];
  const { stdout } = spawnSync(process.execPath, [tsc, ...options, 'mixed.ts'], { cwd: scratch.path });
  scratch.remove();
  const refused = [...stdout.toString().matchAll(/mixed\.ts\((\d+),/g)].map((match) => Number(match[1]) - 3);
  return [...new Set(refused)];
}

describe('instants', () => {
  it('of different clocks cannot be mixed up, nor taken for numbers: that does not compile', () => {
    const fine = [
      'i.msBetween(mono, mono); i.msBetween(boot, boot); i.msBetween(wall, wall);',
      'i.msBetween(i.plusMs(boot, 5), boot);',
    ];
    const mixed = [
      'i.msBetween(mono, boot);',
      'i.msBetween(boot, wall);',
      'i.msBetween(wall, mono);',
      'const a: i.BootInstant = mono;',
      'const b: i.WallInstant = boot;',
      'const c: i.MonotonicInstant = 5;',
      'const d: number = mono;',
      'mono - boot;',
      'mono < wall;',
    ];
    expect(refusedLines([...fine, ...mixed])).toEqual(mixed.map((_, index) => fine.length + index));
  });

  it('are compared and moved by milliseconds', () => {
    const start = monotonicInstant(1000);
    expect(msBetween(start, plusMs(start, 250))).toBe(250);
    expect(msBetween(plusMs(start, 250), start)).toBe(-250);
    expect(wallTimestamp(wallInstant(0))).toBe('1970-01-01T00:00:00.000Z');
  });
});
