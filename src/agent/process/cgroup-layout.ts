/** The controllers that limits and usage need. */
export type Controller = 'memory' | 'cpu' | 'cpuacct' | 'pids';
export const controllers: readonly Controller[] = ['memory', 'cpu', 'cpuacct', 'pids'];

/** Where a controller is, and in which of the two ways it is spoken to. */
export interface ControllerPlace {
  readonly version: 1 | 2;
  /** The group that ours is made in. */
  readonly base: string;
}

export type CgroupLayout = Partial<Record<Controller, ControllerPlace>>;

interface Mount {
  readonly path: string;
  readonly version: 1 | 2;
  readonly controllers: readonly string[];
}

/**
 * Which controllers there are and where: version 1, version 2 or both beside each other. Root makes its groups at the top
 * of each tree, so that they do not depend on where the agent was started; others below their own group, if it is theirs.
 */
export function cgroupLayout(
  mountinfo: string,
  own: string,
  isRoot: boolean,
  /** What a group of version 2 offers: the words of its cgroup.controllers. */
  offered: (group: string) => readonly string[],
): CgroupLayout {
  const mounts = mountinfo.split('\n').flatMap(mountOf);
  const places = Object.fromEntries(
    own.split('\n').flatMap((line) => {
      const [, names = '', path = '/'] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
      return names.split(',').map((name) => [name, path]);
    }),
  );
  const layout: CgroupLayout = {};
  for (const controller of controllers) {
    const one = mounts.find((mount) => mount.version === 1 && mount.controllers.includes(controller));
    const two = mounts.find((mount) => mount.version === 2);
    if (one !== undefined)
      layout[controller] = { version: 1, base: below(one.path, isRoot ? '/' : (places[controller] ?? '/')) };
    else if (two !== undefined) {
      const base = below(two.path, isRoot ? '/' : (places[''] ?? '/'));
      // Version 2 counts processor time in every group.
      if (offered(base).includes(controller === 'cpuacct' ? 'cpu' : controller))
        layout[controller] = { version: 2, base };
    }
  }
  return layout;
}

const below = (mount: string, path: string): string => (path === '/' ? mount : `${mount}${path}`);

function mountOf(line: string): Mount[] {
  // 32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
  const [before = '', after = ''] = line.split(' - ');
  const path = before.split(' ')[4];
  const [type, , options = ''] = after.split(' ');
  if (path === undefined) return [];
  if (type === 'cgroup2') return [{ path, version: 2, controllers: [] }];
  return type === 'cgroup' ? [{ path, version: 1, controllers: options.split(',') }] : [];
}
