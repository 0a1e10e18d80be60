import { describe, expect, it } from 'vitest';
import { cgroupLayout } from './cgroup-layout.js';

const one = (name: string): string => `32 31 0:29 / /sys/fs/cgroup/${name} rw - cgroup cgroup rw,${name}`;
const two = (path: string): string => `40 31 0:40 / ${path} rw - cgroup2 cgroup2 rw`;

describe('where controllers are', () => {
  it('version 1 has a tree for each, some shared', () => {
    const layout = cgroupLayout(
      [one('memory'), '33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct'].join('\n'),
      ...(['', true, () => []] as const),
    );
    expect(layout).toEqual({
      memory: { version: 1, base: '/sys/fs/cgroup/memory' },
      cpu: { version: 1, base: '/sys/fs/cgroup/cpu,cpuacct' },
      cpuacct: { version: 1, base: '/sys/fs/cgroup/cpu,cpuacct' },
    });
  });

  it('version 2 has one tree, and others than root stay below their own group', () => {
    const asked: string[] = [];
    const layout = cgroupLayout(two('/sys/fs/cgroup'), '0::/user.slice/me', false, (group) => {
      asked.push(group);
      return ['cpu', 'pids'];
    });
    const base = '/sys/fs/cgroup/user.slice/me';
    expect(layout).toEqual({
      cpu: { version: 2, base },
      cpuacct: { version: 2, base },
      pids: { version: 2, base },
    });
    expect(new Set(asked)).toEqual(new Set([base]));
  });

  it('both beside each other: what version 1 has is there', () => {
    const layout = cgroupLayout(
      [one('memory'), two('/sys/fs/cgroup/unified')].join('\n'),
      ...(['4:memory:/mine\n0::/', false, () => ['pids']] as const),
    );
    expect(layout).toEqual({
      memory: { version: 1, base: '/sys/fs/cgroup/memory/mine' },
      pids: { version: 2, base: '/sys/fs/cgroup/unified' },
    });
  });

  it('a machine without them has none', () => {
    expect(cgroupLayout('', '', true, () => [])).toEqual({});
  });
});
