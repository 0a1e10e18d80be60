import type { GangStatus } from '../model/kinds/gang.js';
import type { Placement as PlacementRules } from '../model/parts/placement.js';
import type { Reason } from '../model/reasons.js';
import type { Stage } from '../model/stages.js';
import type { ParkReason } from './queue/cures.js';
import type { DecisionDraft, PendingReplica, Placement, PreemptionPlan } from './contract.js';

/**
 * What a gang does next: from its record, its members and their holds to steps, as plain data. It may be asked at any
 * time and any number of times; what was done already is not asked for again.
 *
 * Invariants:
 * - Nobody holds, and nobody is asked to leave, for a gang of which not enough members would find a place.
 * - A gang is committed only when enough holds have all they await: from then on nothing keeps its members apart.
 * - Of gangs that could take the same nodes one reserves at a time. Two that began at once agree on who goes on.
 */

/** A gang that has not brought its holds together by then gives them back. Longer than most take to stop. */
export const reservingMsMax = 300_000;
/** What a member's hold asks for: longer than the gang takes to give up, so that the gang decides, not its holds. */
export const gangHoldSeconds = 360;
/** The end of a look at the cell is told; after so long one that was missed is caught. */
const lookMsMax = 1_000;
/** A gang that time alone can cure looks again after so long. */
const timeMs = 2_000;
const backoffMsFirst = 1_000;
const backoffMsMax = 300_000;

export interface GangView {
  readonly tenant: string;
  readonly name: string;
  readonly state: GangStatus['state'];
  /** How many members hold, as its record counts. */
  readonly holds: number;
  readonly attempts: number;
  readonly minAvailable: number;
  readonly priority: number;
  /** Where its members may go. */
  readonly rules: PlacementRules;
  /** On the scheduler's own clock: since when it has been seen in this state. */
  readonly sinceMs: number;
}

export interface GangMember {
  readonly replica: PendingReplica;
  readonly stage: Stage;
  /** A hold for it was asked for: it is not refused, and not seen yet. */
  readonly isOnItsWay: boolean;
  readonly hold?: {
    readonly reservation: string;
    readonly uid: string;
    readonly placement: Placement;
    /** Awaits: victims have not ended. Broken: its node would not take it any more. */
    readonly state: 'Ready' | 'Awaits' | 'Broken';
  };
}

export type GangStep =
  | {
      readonly kind: 'Move';
      readonly to: GangStatus['state'];
      readonly message: string;
      /** What says that there is no place. */
      readonly draft?: DecisionDraft;
    }
  | {
      readonly kind: 'Reserve';
      readonly placement: Placement | PreemptionPlan;
      /** What it was decided in; the same one for those that were decided together. */
      readonly draft: DecisionDraft;
    }
  | { readonly kind: 'Bind'; readonly placement: Placement }
  | { readonly kind: 'ReleaseHold'; readonly reservation: string; readonly uid: string }
  /** As any other replica: its gang has started. */
  | { readonly kind: 'Place'; readonly replica: PendingReplica }
  | {
      readonly kind: 'Wait';
      readonly reason: Reason;
      readonly message: string;
      readonly untilMs?: number;
      /** What says that there is no place. */
      readonly draft?: DecisionDraft;
    }
  /** Nothing is to be told yet: it is looked at again with the next change, and at the latest then. */
  | { readonly kind: 'Look'; readonly untilMs: number };

export type GangPlan =
  | {
      readonly kind: 'Places';
      /** How many get what others free anyhow. It is nobody's until it is free, so there is nothing to hold. */
      readonly coming: number;
      readonly parts: readonly {
        readonly draft: DecisionDraft;
        readonly places: readonly (Placement | PreemptionPlan)[];
      }[];
    }
  /** There are not enough: how many, and why the next has none. */
  | {
      readonly kind: 'None';
      readonly found: number;
      readonly reason: Reason;
      readonly message: string;
      /** Every reason that kept members off nodes. */
      readonly reasons: readonly ParkReason[];
      readonly draft: DecisionDraft;
    }
  /** It is still being found out. */
  | { readonly kind: 'NotReady' };

export interface GangMoment {
  readonly nowMs: number;
  /** From 0 to 1, another one for each gang: so that those that failed together do not try together again. */
  readonly jitter: number;
  /** The other gangs that reserve, or are about to. */
  readonly reserving: readonly GangView[];
  /** Places for at least so many of these, all on one picture of the cell, or for none. */
  readonly plan: (replicas: readonly PendingReplica[], atLeast: number) => GangPlan;
  /** The reasons that time alone can cure. */
  readonly curedByTime: readonly ParkReason[];
}

export function nextGangSteps(
  gang: GangView,
  members: readonly GangMember[],
  moment: GangMoment,
): readonly GangStep[] {
  switch (gang.state) {
    case 'Waiting':
      return begin(gang, members, moment);
    case 'Reserving':
      return gather(gang, members, moment);
    case 'Committed':
      return goForward(members);
    case 'Released':
      return giveBack(gang, members);
  }
}

const waiting = (members: readonly GangMember[]): readonly PendingReplica[] =>
  members.filter(({ stage, isOnItsWay }) => stage === 'Queued' && !isOnItsWay).map(({ replica }) => replica);

function begin(gang: GangView, members: readonly GangMember[], moment: GangMoment): readonly GangStep[] {
  const { minAvailable, name } = gang;
  const ready = waiting(members);
  if (ready.length < minAvailable)
    return [wait('GangIncomplete', `${ready.length} of ${minAvailable} members of gang ${name} are queued`)];
  const untilMs = retryAtMs(gang, moment.jitter);
  if (moment.nowMs < untilMs)
    return [wait('GangIncomplete', `gang ${name} tries again after ${gang.attempts} attempts`, untilMs)];
  const other = moment.reserving.find((one) => couldMeet(one.rules, gang.rules));
  if (other !== undefined)
    return [wait('GangIncomplete', `gang ${other.tenant}/${other.name} reserves there first`)];
  const plan = moment.plan(ready, minAvailable);
  switch (plan.kind) {
    case 'NotReady':
      return [{ kind: 'Look', untilMs: moment.nowMs + lookMsMax }];
    case 'None':
      return [
        {
          ...wait(
            plan.reason,
            `${plan.found} of ${minAvailable} members find a place at once: ${plan.message}`,
            plan.reasons.some((reason) => moment.curedByTime.includes(reason))
              ? moment.nowMs + timeMs
              : undefined,
          ),
          draft: plan.draft,
        },
      ];
    case 'Places': {
      const reserves = reservesOf(plan);
      if (reserves.length === 0) return [wait('NodeFull', comingMessage(plan.coming))];
      const message = `${reserves.length} places for ${minAvailable} members`;
      return [{ kind: 'Move', to: 'Reserving', message }, ...reserves];
    }
  }
}

function gather(gang: GangView, members: readonly GangMember[], moment: GangMoment): readonly GangStep[] {
  const { minAvailable } = gang;
  const endsMs = gang.sinceMs + reservingMsMax;
  const holds = members.flatMap(({ hold }) => (hold === undefined ? [] : [hold]));
  const count = (state: 'Ready' | 'Awaits'): number => holds.filter((hold) => hold.state === state).length;
  if (count('Ready') >= minAvailable)
    return [{ kind: 'Move', to: 'Committed', message: `${count('Ready')} members hold` }];
  if (moment.nowMs >= endsMs) return [giveUp(`not together after ${reservingMsMax / 1_000} s`)];
  const first = moment.reserving.find((one) => couldMeet(one.rules, gang.rules) && goesFirst(one, gang));
  if (first !== undefined) return [giveUp(`gang ${first.tenant}/${first.name} goes first`)];
  const broken = holds.filter(({ state }) => state === 'Broken');
  if (broken.length > 0) return broken.map(released);
  const missing = minAvailable - count('Ready') - count('Awaits');
  if (missing <= 0) return [wait('NodeFull', `${count('Awaits')} members await what others free`, endsMs)];
  // How many are missing is not known before all that was asked for is refused or seen.
  if (members.some(({ isOnItsWay }) => isOnItsWay)) return [{ kind: 'Look', untilMs: endsMs }];
  const ready = waiting(members);
  if (ready.length < missing) return [giveUp(`${ready.length} members are left for ${missing} places`)];
  const plan = moment.plan(ready, missing);
  switch (plan.kind) {
    case 'NotReady':
      return [{ kind: 'Look', untilMs: Math.min(endsMs, moment.nowMs + lookMsMax) }];
    case 'None':
      return [
        { ...giveUp(`there are no places for ${missing} more members: ${plan.message}`), draft: plan.draft },
      ];
    case 'Places': {
      const reserves = reservesOf(plan);
      return reserves.length > 0 ? reserves : [wait('NodeFull', comingMessage(plan.coming), endsMs)];
    }
  }
}

const reservesOf = ({ parts }: Extract<GangPlan, { kind: 'Places' }>): readonly GangStep[] =>
  parts.flatMap(({ places, draft }) =>
    places.map((placement) => ({ kind: 'Reserve', placement, draft }) as const),
  );

const goForward = (members: readonly GangMember[]): readonly GangStep[] =>
  members.flatMap(({ stage, hold, replica }): readonly GangStep[] => {
    if (stage === 'Queued') return [{ kind: 'Place', replica }];
    return hold?.state === 'Ready' ? [{ kind: 'Bind', placement: hold.placement }] : [];
  });

function giveBack({ holds, name }: GangView, members: readonly GangMember[]): readonly GangStep[] {
  const held = members.flatMap(({ hold }) => (hold === undefined ? [] : [hold]));
  if (held.length > 0) return held.map(released);
  if (holds > 0) return [wait('GangIncomplete', `${holds} members of gang ${name} still hold`)];
  return [{ kind: 'Move', to: 'Waiting', message: 'nobody holds for it any more' }];
}

const comingMessage = (coming: number): string => `${coming} members wait for what others free`;

const wait = (reason: Reason, message: string, untilMs?: number): Extract<GangStep, { kind: 'Wait' }> => ({
  kind: 'Wait',
  reason,
  message,
  ...(untilMs !== undefined && { untilMs }),
});
const giveUp = (message: string): Extract<GangStep, { kind: 'Move' }> => ({
  kind: 'Move',
  to: 'Released',
  message,
});
const released = ({ reservation, uid }: NonNullable<GangMember['hold']>): GangStep => ({
  kind: 'ReleaseHold',
  reservation,
  uid,
});

/** After each attempt twice as long, up to a bound, and never for all alike. */
const retryAtMs = ({ attempts, sinceMs }: GangView, jitter: number): number =>
  attempts === 0
    ? sinceMs
    : sinceMs + Math.min(backoffMsMax, backoffMsFirst * 2 ** (attempts - 1)) * (0.5 + jitter / 2);

/** Between two that reserve at once, by what does not change while they do: both come to the same answer. */
export const goesFirst = (a: GangView, b: GangView): boolean =>
  a.priority !== b.priority ? a.priority > b.priority : `${a.tenant}/${a.name}` < `${b.tenant}/${b.name}`;

/** Whether there could be a node that both may use, as far as their own rules say. */
export function couldMeet(a: PlacementRules, b: PlacementRules): boolean {
  const shareOne = (some: readonly string[] = [], others: readonly string[] = []): boolean =>
    some.length === 0 || others.length === 0 || some.some((one) => others.includes(one));
  const labels = new Map(Object.entries(b.nodeSelector ?? {}));
  return (
    shareOne(a.regions, b.regions) &&
    shareOne(a.zones, b.zones) &&
    Object.entries(a.nodeSelector ?? {}).every(([key, value]) => (labels.get(key) ?? value) === value)
  );
}
