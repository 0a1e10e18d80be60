import type { Replica } from '../../model/kinds/replica.js';
import type { Workload } from '../../model/kinds/workload.js';
import { allowsSecondCopy } from '../../model/second-copy.js';
import { waitingOf } from '../../model/waiting.js';
import type { FactsOfWaiting } from './replica-facts.js';
import type { Slot } from './slot.js';
import { hasEnded, stageOf } from './slot-wishes.js';

/**
 * [S5] The lost copy that must end before the slot gets its next replica; undefined: none must. A slot has older replicas
 * that have not ended only if the workload once allowed to replace a lost one.
 */
export const awaitedCopy = ({ spec }: Workload, { older }: Pick<Slot, 'older'>): Replica | undefined =>
  allowsSecondCopy(spec) ? undefined : older.find((replica) => !hasEnded(replica));

/** [L6] What people are told about a slot whose next replica waits for a lost copy. */
export function waitsForCopy({ spec }: Workload, copy: Replica): FactsOfWaiting {
  const { name } = copy.metadata;
  const { node = 'its node' } = copy.status?.binding ?? {};
  const rule =
    spec.template.execution === 'AtMostOne'
      ? 'AtMostOne'
      : `onNodeLost: ${spec.onNodeLost?.action ?? 'Wait'}`;
  const what =
    stageOf(copy) === 'Releasing'
      ? `Lost copy ${name} is stopping on ${node}`
      : `Lost copy ${name} may still run on ${node}`;
  return {
    ...{ boundary: 'Authority', reason: 'AwaitsLostCopy', boundAt: undefined },
    nextMove: waitingOf(copy, false)?.nextMove ?? 'repair-controller',
    message:
      `${what}, and ${rule} allows no second copy. The next replica starts when ${name} has stopped: ` +
      `${node} comes back and stops it, or an operator confirms that everything on ${node} has stopped (berth attest ${node} --stopped)`,
  };
}
