import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fixturePath, run } from '../../testing/run-process.js';
import { closeDirectory, closedAbove, serverEntries } from './close-directory.js';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'berth-close-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));
const modeOf = (...names: string[]): string => (statSync(join(home, ...names)).mode & 0o7777).toString(8);
const made = (name: string, mode: number): void => {
  mkdirSync(join(home, name));
  chmodSync(join(home, name), mode);
};

describe('a directory of Berth', () => {
  it('is closed with all that is in it, but for the way through it', () => {
    made('data', 0o777);
    made('data/pki', 0o755);
    made('data/agent', 0o755);
    made('data/of-the-operator', 0o755);
    writeFileSync(join(home, 'data/audit.log'), '');
    chmodSync(join(home, 'data/audit.log'), 0o666);
    symlinkSync(join(home, 'nowhere'), join(home, 'data/store'));
    closeDirectory(join(home, 'data'), serverEntries);
    const names = ['', 'pki', 'agent', 'audit.log', 'of-the-operator'];
    expect(names.map((name) => modeOf('data', name))).toEqual(['711', '700', '711', '600', '755']);
    closeDirectory(join(home, 'data'));
    expect(modeOf('data')).toBe('700');
  });

  it('is made if it is missing', () => {
    closeDirectory(join(home, 'new/data'), serverEntries);
    expect(modeOf('new/data')).toBe('711');
  });

  it('is one of its own, and not one that all users share', () => {
    made('shared', 0o1777);
    expect(() => closeDirectory(join(home, 'shared'))).toThrow('shared is shared by all users');
    expect(modeOf('shared')).toBe('1777');
  });

  it('says which directory above it other users may not enter', () => {
    made('closed', 0o700);
    made('closed/data', 0o711);
    chmodSync(home, 0o711);
    expect(closedAbove(join(home, 'closed/data'))).toBe(`${join(home, 'closed')} (mode 700)`);
    expect(closedAbove(join(home, 'closed'))).toBeUndefined();
  });

  it.runIf(process.getuid?.() === 0)(
    'that belongs to somebody else, and is open, is refused with its path',
    async () => {
      made('data', 0o755);
      chmodSync(home, 0o711);
      const program = `import(${JSON.stringify(fixturePath(import.meta.url, 'close-directory.js'))}).then(({ closeDirectory }) => {
      process.setuid(65534);
      try { closeDirectory(${JSON.stringify(join(home, 'data'))}); } catch (error) { console.log(error.code, error.message); }
    })`;
      const { stdout } = await run(process.execPath, ['-e', program]);
      expect(stdout).toContain(`DirectoryOpen ${join(home, 'data')} is open to other users (mode 755)`);
    },
  );
});
