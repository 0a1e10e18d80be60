import type { Replica } from '../../model/kinds/replica.js';
import { isTerminal } from '../../model/stages.js';

/** The piece of evidence of a replica's first transition that carries the count from incarnation to incarnation. */
export const failuresEvidence = 'failuresBefore';

type Kind = 'Service' | 'Batch' | 'Daemon';

/** How many incarnations of its slot had failed in a row before this one; for a Batch, how many at all. */
export function failuresBefore({ spec, status }: Replica, type: Kind): number {
  const first = status?.transitions?.[0];
  const noted = first?.from === undefined ? first?.evidence?.[failuresEvidence] : undefined;
  if (noted !== undefined) return Number(noted);
  // Its first transition has aged out. A batch counts every execution rather than retry for ever.
  return type === 'Batch' ? spec.incarnation - 1 : 0;
}

/** The same after it has ended. A service that ends by itself has failed whatever it says, unless it had served. */
export function failuresAfter(replica: Replica, type: Kind): number {
  const stage = replica.status?.stage ?? 'Queued';
  if (!isTerminal(stage)) return failuresBefore(replica, type);
  if (type === 'Batch') return failuresBefore(replica, type) + (stage === 'Failed' ? 1 : 0);
  if (stage === 'Released') return failuresBefore(replica, type);
  const hasServed = replica.status?.transitions?.some(({ to }) => to === 'Serving') ?? false;
  return hasServed ? 1 : failuresBefore(replica, type) + 1;
}

const firstDelayMs = 1_000;
const mostDelayMs = 300_000;

/** How long a slot waits for its next incarnation: not at all after a release, longer after every failure. */
export function delayMsAfter(replica: Replica, type: Kind): number {
  if (replica.status?.stage === 'Released') return 0;
  const failures = failuresAfter(replica, type);
  return failures === 0 ? 0 : Math.min(mostDelayMs, firstDelayMs * 2 ** Math.min(failures - 1, 20));
}
