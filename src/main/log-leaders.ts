import type { Lease } from '../model/kinds/lease.js';
import type { Objects } from '../model/ports.js';
import { nodeOfLease } from '../model/records.js';
import type { Log, LogLevel } from './log.js';

export interface LogLeadersParts {
  readonly objects: Pick<Objects, 'list' | 'follow'>;
  /** The name under which this server holds leases. */
  readonly holder: string;
  readonly log: Log;
  readonly level: LogLevel;
}

/** Logs who leads, and since when: for every lease at the start, and whenever its holder or its epoch changes. */
export function logLeaders({ objects, holder, log, level }: LogLeadersParts, signal: AbortSignal): void {
  // The last term that was logged of each lease.
  const logged = new Map<string, string>();
  const look = ({ metadata: { name }, spec }: Lease): void => {
    if (nodeOfLease(name) !== undefined) return;
    const epoch = `${spec.epoch.cell}.${spec.epoch.number}`;
    const term = `${spec.holder} ${epoch}`;
    if (logged.get(name) === term) return;
    logged.set(name, term);
    const since = spec.acquiredAt ?? '';
    const fields = { holder: spec.holder, epoch, since, address: spec.address };
    log({ level, component: 'leader', object: name, message: leaderOf(spec, holder), fields });
  };
  objects.follow(
    ({ type, object }) => {
      if (type === 'DELETED') logged.delete(object.metadata.name);
      else look(object as Lease);
    },
    // The next change of a lease, its renewal, says who holds it.
    () => undefined,
    signal,
    new Set(['Lease']),
  );
  for (const lease of objects.list<Lease>('Lease')) look(lease);
}

function leaderOf({ holder }: Lease['spec'], own: string): string {
  if (holder === '') return 'nobody leads';
  return holder === own ? 'this server leads' : 'another server leads';
}
