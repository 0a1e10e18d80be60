import type { Node } from '../../model/kinds/node.js';
import type { Gate } from '../../model/ports.js';
import { shownEpoch } from '../../model/records.js';
import { permit } from '../../observe/evidence.js';
import type { Judgement } from '../../observe/node-freshness.js';

/** Whether the last durable verdict on a node says the same. */
export const isDurable = ({ status }: Node, verdict: Judgement['verdict']): boolean =>
  status?.reachability === verdict && status.gate?.state === (verdict === 'Fresh' ? 'Open' : 'Closed');

/** The verdict that is to be made durable; undefined if the last durable one says the same. */
export function judgeGate(
  { metadata, status }: Node,
  judgement: Judgement | undefined,
): Omit<Gate, 'actor'> | undefined {
  const epoch = status?.epoch;
  if (epoch === undefined || judgement === undefined) return undefined;
  const { verdict } = judgement;
  // A new leader has not listened for long; that is no reason to think better of a node than the last one did.
  const isBetter = rank(verdict) < rank(status?.reachability);
  if (isBetter && !judgement.isHeard) return undefined;
  const state = verdict === 'Fresh' ? 'Open' : 'Closed';
  if (status?.reachability === verdict && status.gate?.state === state) return undefined;
  if (verdict === 'Fresh') permit('detector', 'heartbeat', 'openGate');
  else permit('detector', verdict === 'Suspect' ? 'lateHeartbeat' : 'leaseExpired', 'closeGate');
  return {
    node: metadata.name,
    nodeEpoch: epoch,
    reachability: verdict,
    reason: reasonOf(judgement),
    evidence: {
      why: whyOf(judgement),
      arrivals: judgement.arrivalsMs.map((ms) => Math.round(ms / 1_000)),
    },
    operation: `gate/${metadata.name}/${shownEpoch(epoch)}/${verdict}/${metadata.resourceVersion}`,
  };
}

const verdicts: readonly string[] = ['Fresh', 'Suspect', 'Unknown', 'Lost'];
const rank = (verdict: string | undefined): number => verdicts.indexOf(verdict ?? '');

const seconds = (ms: number): string => `${Math.round(ms / 1_000)} s`;

function reasonOf({ verdict, silentMs }: Judgement): string {
  switch (verdict) {
    case 'Fresh':
      return 'Heard';
    case 'Suspect':
      return `HeartbeatLate: silent for ${seconds(silentMs)}`;
    case 'Unknown':
    case 'Lost':
      return `LeaseExpired: silent for ${seconds(silentMs)}`;
  }
}

function whyOf({ verdict, silentMs, lateMs, leaseMs }: Judgement): string {
  const silent = `nothing was heard of it for ${seconds(silentMs)}`;
  switch (verdict) {
    case 'Fresh':
      return 'it is heard of in time';
    case 'Suspect':
      return `${silent}; by its own last arrivals ${seconds(lateMs)} would be usual`;
    case 'Unknown':
      return `${silent}; its lease lasts ${seconds(leaseMs)}`;
    case 'Lost':
      return `${silent}: what its workloads allow to give away has been given away`;
  }
}
