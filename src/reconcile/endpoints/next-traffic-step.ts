import type { Node } from '../../model/kinds/node.js';
import type { Replica } from '../../model/kinds/replica.js';
import { type Deed, type Permit, permit, type SignalFor } from '../../observe/evidence.js';

/** What becomes of one replica's traffic. */
export type TrafficStep =
  /** It is not for clients, and nothing is to be done. */
  | { readonly kind: 'Out' }
  /** It is ready, and not for long enough yet. */
  | { readonly kind: 'Wait'; readonly ms: number }
  /** It starts to serve: Ready → Serving. It is listed once that is committed. */
  | { readonly kind: 'Enter' }
  /** It serves and is listed. `ms`: nothing is heard of it, and only then can it be said whether others are silent too. */
  | { readonly kind: 'List'; readonly ms?: number }
  /** It is listed as it was last known, although nothing is heard of it: so many are silent that it says little. */
  | { readonly kind: 'Keep'; readonly why: string }
  /** It was taken out of the endpoints, and whoever did so got no further: Serving → Ready, from where it may come back. */
  | { readonly kind: 'Withdrawn' }
  /** It serves no more, and its process goes on: Serving → Ready. */
  | {
      readonly kind: 'Leave';
      /** The signal it rests on. */
      readonly on: SignalFor<'endpoints-controller', 'leaveEndpoints'>;
      readonly reason: 'ReadinessLost' | 'NodeLost';
      readonly message: string;
    };

export interface TrafficInput {
  readonly replica: Replica;
  readonly node: Node | undefined;
  readonly minReadySeconds: number;
  /** How long this leader has seen it Ready with its probe passing. */
  readonly readyMs: number;
  /** How long until the silence of its node can be judged together with that of others; 0: it can. */
  readonly settlesMs: number;
  /** Why nothing is to be concluded from the silence of its node; undefined: nothing speaks against it. */
  readonly brake: string | undefined;
}

const out: TrafficStep = { kind: 'Out' };

/** Its lease has expired. A late heartbeat alone says nothing of what runs there. */
export const isNodeLost = (node: Node | undefined): boolean => {
  const reachability: string | undefined = node?.status?.reachability;
  return reachability !== 'Fresh' && reachability !== 'Suspect';
};

/** The whole rule of traffic (DESIGN §4, §7): readiness and leases decide it, and nothing else. */
export function nextTrafficStep(input: TrafficInput): TrafficStep {
  const { replica, node, minReadySeconds, readyMs, settlesMs, brake } = input;
  const { stage, readiness, isListed = false } = replica.status ?? {};
  const isPassing = readiness?.isPassing !== false;
  const isLost = isNodeLost(node);
  switch (stage) {
    case 'Ready': {
      if (!isPassing || isLost) return out;
      const leftMs = minReadySeconds * 1_000 - readyMs;
      // One that is still listed was only not heard of for a while.
      return isListed || leftMs <= 0 ? { kind: 'Enter' } : { kind: 'Wait', ms: leftMs };
    }
    case 'Serving':
      if (!isPassing)
        return {
          ...{ kind: 'Leave', on: 'readinessFailed', reason: 'ReadinessLost' },
          message: readiness?.message ?? 'its probe fails',
        };
      // Listed again as it is, it would be asked to stop while clients are sent to it.
      if (!isListed) return { kind: 'Withdrawn' };
      if (!isLost) return { kind: 'List' };
      if (brake !== undefined) return { kind: 'Keep', why: brake };
      if (settlesMs > 0) return { kind: 'List', ms: settlesMs };
      return {
        ...{ kind: 'Leave', on: 'leaseExpired', reason: 'NodeLost' },
        message: 'the lease of its node has expired',
      };
    case 'Unknown': {
      // One that was given away has a successor, to whom clients are sent.
      const isGivenAway = replica.status?.intent !== undefined || isSuperseded(replica);
      if (!isListed || isGivenAway) return out;
      if (brake !== undefined) return { kind: 'Keep', why: brake };
      return isLost && settlesMs > 0 ? { kind: 'List', ms: settlesMs } : out;
    }
    default:
      return out;
  }
}

const isSuperseded = ({ status }: Replica): boolean =>
  status?.conditions?.some(({ type, status: is }) => type === 'Superseded' && is === 'True') === true;

/** What a step needs leave for by the table of evidence. */
export function permitsFor(step: TrafficStep): readonly Permit<Deed>[] {
  if (step.kind === 'Keep') return [permit('endpoints-controller', 'manySilent', 'keepEndpoints')];
  return step.kind === 'Leave' ? [permit('endpoints-controller', step.on, 'leaveEndpoints')] : [];
}

/** Whether the endpoints name a replica of which this is the next step. */
export const isListedAt = (step: TrafficStep, replica: Replica): boolean =>
  step.kind === 'List' ||
  step.kind === 'Keep' ||
  (step.kind === 'Enter' && replica.status?.isListed === true);
