import { spawnSync } from 'node:child_process';
import type { Isolation } from './launch-line.js';

/** What this machine allows, found out by trying it once. */
export function isolationHere(): Isolation {
  const needsUserNamespace = process.getuid?.() !== 0;
  const user = needsUserNamespace ? ['--user', '--map-current-user'] : [];
  const tried = spawnSync(
    'setpriv',
    [
      ...['--pdeathsig', 'KILL', 'unshare', ...user, '--pid', '--fork', '--kill-child'],
      ...['--mount-proc', '--propagation', 'slave', 'setsid', '/bin/sh', '-c', 'test -d /proc/1'],
    ],
    { stdio: 'ignore', timeout: 10_000 },
  );
  return tried.status === 0 ? { kind: 'Namespace', needsUserNamespace } : { kind: 'Group' };
}
