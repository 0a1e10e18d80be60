import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { environmentText, execLine, launchLine } from './launch-line.js';

const files = { environmentFile: '/run/environment', cgroupFiles: ['/a/tasks', '/b/tasks'] };
const spec = { command: ['work', '--hard'], isFenced: false };
const namespace = { kind: 'Namespace', needsUserNamespace: false } as const;

describe('how a run is started', () => {
  it('[S5] what is fenced, and only that, ends with the supervisor', () => {
    expect(launchLine({ ...spec, isFenced: true }, namespace, files).slice(0, 4)).toEqual([
      ...['setpriv', '--pdeathsig', 'KILL', 'unshare'],
    ]);
    expect(launchLine(spec, namespace, files)[0]).toBe('unshare');
  });

  it('whoever is not root needs a user namespace around it', () => {
    expect(launchLine(spec, { kind: 'Namespace', needsUserNamespace: true }, files)).toContain('--user');
    expect(launchLine(spec, namespace, files)).not.toContain('--user');
  });

  it('the environment is opened before another user is taken on, and read after', () => {
    const line = launchLine({ ...spec, user: { uid: 7, gid: 8 } }, namespace, files);
    expect(line.indexOf('/run/environment')).toBeLessThan(line.indexOf('--reuid=7'));
    expect(line.slice(-3)).toEqual(['berth-job', 'work', '--hard']);
  });

  it('a command beside it runs as the same user, however the machine keeps runs together', () => {
    const run = { pid: 9, user: { uid: 7, gid: 8 }, ...files };
    for (const isolation of [namespace, { kind: 'Group' } as const]) {
      const line = execLine(run, isolation, ['look']);
      expect(line).toContain('--reuid=7');
      expect(line.indexOf('/run/environment')).toBeLessThan(line.indexOf('--reuid=7'));
    }
  });

  it('a command beside it joins its control groups while it may, before another user is taken on', () => {
    const run = { pid: 9, user: { uid: 7, gid: 8 }, ...files };
    for (const isolation of [namespace, { kind: 'Group' } as const]) {
      const line = execLine(run, isolation, ['look']);
      expect(line.indexOf('/a/tasks /b/tasks')).toBeGreaterThan(0);
      expect(line.indexOf('/a/tasks /b/tasks')).toBeLessThan(line.indexOf('--reuid=7'));
    }
  });

  it('values of the environment are taken to the letter', () => {
    const value = `'"$(exit 1)\`\\\n line two`;
    const text = `${environmentText({ A: value, B: '' }, undefined)}printf %s "$A|$B"`;
    expect(spawnSync('/bin/sh', ['-c', text]).stdout.toString()).toBe(`${value}|`);
  });

  it('a working directory that is not there, or closed to its user, ends it before it begins', () => {
    const text = (directory: string): string => `${environmentText({}, directory)}pwd; umask`;
    expect(spawnSync('/bin/sh', ['-c', text('/usr')]).stdout.toString()).toBe('/usr\n0077\n');
    expect(spawnSync('/bin/sh', ['-c', text('/no such')])).toMatchObject({ status: 126 });
  });
});
