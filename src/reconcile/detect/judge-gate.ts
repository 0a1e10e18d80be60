import type { Node } from '../../model/kinds/node.js';
import type { Gate } from '../../model/ports.js';
import { shownEpoch } from '../../model/records.js';
import type { Judgement } from '../../observe/node-freshness.js';

/** The verdict that is to be made durable; undefined if the last durable one says the same. */
export function judgeGate(
  { metadata, status }: Node,
  judgement: Judgement | undefined,
): Omit<Gate, 'actor'> | undefined {
  const epoch = status?.epoch;
  if (epoch === undefined || judgement === undefined) return undefined;
  const { verdict, silentMs } = judgement;
  const state = verdict === 'Fresh' ? 'Open' : 'Closed';
  if (status?.reachability === verdict && status.gate?.state === state) return undefined;
  return {
    node: metadata.name,
    nodeEpoch: epoch,
    reachability: verdict,
    reason: reasonOf(verdict, silentMs),
    operation: `gate/${metadata.name}/${shownEpoch(epoch)}/${verdict}/${metadata.resourceVersion}`,
  };
}

const reasonOf = (verdict: Judgement['verdict'], silentMs: number): string => {
  const seconds = Math.round(silentMs / 1_000);
  if (verdict === 'Fresh') return 'Heard';
  return verdict === 'Suspect'
    ? `HeartbeatLate: silent for ${seconds} s`
    : `LeaseExpired: silent for ${seconds} s`;
};
