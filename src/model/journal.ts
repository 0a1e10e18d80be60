import type { ReplicaBinding } from './kinds/replica.js';
import { type Epoch, isOlderEpoch } from './records.js';

/**
 * [S5] Whether an agent can know what became of a binding: it was made under the journal that the agent has, or the agent has
 * said since that its journal has it. That it has nothing of any other says nothing: another machine of that name may.
 */
export const isInJournal = (
  { nodeEpoch, knownSince }: Pick<ReplicaBinding, 'nodeEpoch' | 'knownSince'>,
  journalSince: Epoch | undefined,
): boolean => journalSince === undefined || !isOlderEpoch(knownSince ?? nodeEpoch, journalSince);
