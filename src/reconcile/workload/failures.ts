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

// One that took traffic for so long was well; before that it fails as often as it is started.
const servedMsLeast = 60_000;

/**
 * Whether it took traffic for long enough to begin counting anew. By the times that its moves carry: how long a slot
 * waits depends on it, and never whether something is done.
 */
function hasServed({ status }: Replica): boolean {
  const transitions = status?.transitions ?? [];
  const serving = transitions.findLastIndex(({ to }) => to === 'Serving');
  const [from, until] = [transitions[serving], transitions[serving + 1]];
  if (serving === -1 || from === undefined || until === undefined) return false;
  return Date.parse(until.at) - Date.parse(from.at) >= servedMsLeast;
}

/** The same after it has ended. A service that ends by itself has failed whatever it says, unless it had served. */
export function failuresAfter(replica: Replica, type: Kind): number {
  const stage = replica.status?.stage ?? 'Queued';
  if (!isTerminal(stage)) return failuresBefore(replica, type);
  if (type === 'Batch') return failuresBefore(replica, type) + (stage === 'Failed' ? 1 : 0);
  if (stage === 'Released') return failuresBefore(replica, type);
  return hasServed(replica) ? 1 : failuresBefore(replica, type) + 1;
}

const firstDelayMs = 1_000;
const mostDelayMs = 300_000;

/** How long a slot waits for its next incarnation: not at all after a release, longer after every failure. */
export function delayMsAfter(replica: Replica, type: Kind): number {
  if (replica.status?.stage === 'Released') return 0;
  const failures = failuresAfter(replica, type);
  return failures === 0 ? 0 : Math.min(mostDelayMs, firstDelayMs * 2 ** Math.min(failures - 1, 20));
}
