/**
 * What each signal may decide, and what never (DESIGN §7). The one place where evidence becomes permission: a controller
 * that acts on what it has observed names the signal, and `permit` says whether that signal allows that deed.
 */

/** What controllers do on evidence. */
export const deeds = {
  closeGate: 'gate closed: no new placements there',
  openGate: 'gate open: it takes work again',
  callUnknown: 'Unknown: nobody knows whether it runs',
  leaveEndpoints: 'it leaves the endpoints',
  keepEndpoints: 'endpoints keep their last known members',
  replace: 'one replacement beside it, where its workload allows a second',
  release: 'Released: it has ended',
  askToStop: 'its agent is asked to stop it and to say so',
  askHuman: 'a human is asked for',
  holdRepairBack: 'repair there slows down or stops, and says so',
  stopServing: 'not Serving',
  restartThere: 'restart there, with backoff and budget',
  lookAgain: 'read again',
  scheduleAgain: 'schedule again',
  takeLease: 'elect another under the next epoch',
  pauseRollout: 'pause expansion',
} as const;

export type Deed = keyof typeof deeds;
export type Observer =
  | 'detector'
  | 'repair-controller'
  | 'endpoints-controller'
  | 'agent'
  | 'scheduler'
  | 'rollout'
  | 'everyone';

interface Row {
  readonly signal: string;
  /** How it lies. */
  readonly lies: string;
  readonly may: Readonly<Partial<Record<Observer, readonly Deed[]>>>;
  readonly never: string;
}

export const evidenceTable = {
  heartbeat: {
    signal: 'heartbeat in time',
    lies: 'the agent is well, and what it runs need not be',
    may: { detector: ['openGate'], 'repair-controller': ['askToStop', 'askHuman'] },
    never: 'that a replica runs',
  },
  lateHeartbeat: {
    signal: 'late heartbeat',
    lies: 'slow network, busy agent',
    may: { detector: ['closeGate'] },
    never: 'anything about what runs there',
  },
  leaseExpired: {
    signal: 'lease expired',
    lies: 'partition, dead agent with live jobs',
    may: {
      detector: ['closeGate'],
      'repair-controller': ['callUnknown', 'replace', 'askHuman'],
      'endpoints-controller': ['leaveEndpoints'],
    },
    never: 'that they stopped',
  },
  fenceExpired: {
    signal: 'lease key unchanged for W, fence contract in force',
    lies: 'frozen machine (FenceOverrun)',
    may: { 'repair-controller': ['release'] },
    never: '–',
  },
  anotherJournal: {
    signal: "bound before its node's journal began, and its agent has not said that it knows of it",
    lies: 'it is the same machine, and nothing of it runs there',
    may: { 'repair-controller': ['callUnknown', 'replace', 'askHuman'] },
    never: 'that it stopped',
  },
  journalExpired: {
    signal: 'the same for W, fence contract in force',
    lies: 'frozen machine (FenceOverrun)',
    may: { 'repair-controller': ['release'] },
    never: '–',
  },
  stopReport: {
    signal: "agent's stop report, valid epoch",
    lies: '–',
    may: { agent: ['release'] },
    never: '–',
  },
  noReport: {
    signal: 'no report after bind, or by the deadline of a later stage',
    lies: 'report lost, agent stuck',
    may: { 'repair-controller': ['callUnknown', 'askToStop', 'replace', 'askHuman'] },
    never: 'a second bind',
  },
  readinessFailed: {
    signal: 'readiness probe failed',
    lies: 'a dependency is down',
    may: { 'endpoints-controller': ['stopServing', 'leaveEndpoints'] },
    never: 'restart or move',
  },
  livenessFailed: {
    signal: 'liveness failed, process exited',
    lies: '–',
    may: { agent: ['restartThere'] },
    never: 'move before the budget is spent',
  },
  imagePullSlow: {
    signal: 'image pull slow',
    lies: 'registry slow',
    may: { agent: ['lookAgain'] },
    never: 'failure before startDeadline',
  },
  requestTimedOut: {
    signal: 'watch cut, request timed out',
    lies: 'the write may have landed',
    may: { everyone: ['lookAgain'] },
    never: 'that anything failed',
  },
  bindRejected: {
    signal: 'bind rejected',
    lies: 'cache was stale',
    may: { scheduler: ['scheduleAgain'] },
    never: 'that the workload is invalid',
  },
  rolloutDeadline: {
    signal: 'rollout deadline passed',
    lies: 'the cluster is slow, not the revision',
    may: { rollout: ['pauseRollout'] },
    never: 'remove replicas that serve',
  },
  readinessLow: {
    signal: 'readiness low',
    lies: 'placement or pulls lag',
    may: {},
    never: 'scale-up while a boundary before Traffic limits',
  },
  leaderLeaseExpired: {
    signal: "controller's lease expired",
    lies: 'it may still be running',
    may: { everyone: ['takeLease'] },
    never: 'that its last write failed',
  },
  manySilent: {
    signal: 'many nodes silent at once',
    lies: 'our own network',
    may: { 'repair-controller': ['holdRepairBack'], 'endpoints-controller': ['keepEndpoints'] },
    never: 'mass replacement',
  },
  attestation: {
    signal: "an operator's attestation",
    lies: 'a human can be wrong',
    may: { 'repair-controller': ['release'] },
    never: 'more than it attests, outside its scope or after it expires',
  },
} as const satisfies Readonly<Record<string, Row>>;

export type Signal = keyof typeof evidenceTable;

type Allowed<S extends Signal, O extends Observer> = (typeof evidenceTable)[S]['may'] extends {
  readonly [K in O]: readonly (infer D)[];
}
  ? D
  : never;

/** The signals on which somebody may do something: all others do not compile. */
export type SignalFor<O extends Observer, D extends Deed> = {
  [S in Signal]: D extends Allowed<S, O> ? S : never;
}[Signal];

/** That a deed rests on a signal that allows it. Made only by `permit`. */
export interface Permit<D extends Deed> {
  readonly deed: D;
  readonly signal: Signal;
}

/** Whether a signal allows somebody to do something. */
export function permits(observer: Observer, signal: Signal, deed: Deed): boolean {
  const { may }: Row = evidenceTable[signal];
  return may[observer]?.includes(deed) === true;
}

/** Leave to do something on a signal. To ask for what the table does not allow is a defect, and stops who asks. */
export function permit<O extends Observer, D extends Deed>(
  observer: O,
  signal: SignalFor<O, D>,
  deed: D,
): Permit<D> {
  if (!permits(observer, signal, deed))
    throw new Error(`${evidenceTable[signal].signal} does not allow ${observer} to ${deed}`);
  return { deed, signal };
}
