import type { ReplicaStatus } from '../model/kinds/replica.js';
import type { Authority, Outcome, Proposal, Records } from '../model/ports.js';
import { leaseKey, objectKey, statusKey } from '../model/records.js';
import { CellState } from './cell-state.js';
import type { ReplicaState } from './replica-states.js';
import type { Turn, TurnMoment, TurnResult, Wait } from './contract.js';
import type { GangCore } from './gang-driver.js';
import type { SchedulingCore } from './scheduling-term.js';

/** Records in a map, told to whoever follows. */
export class MapRecords implements Records {
  readonly #records = new Map<string, unknown>();
  readonly #followers = new Set<(key: string, value: unknown) => void>();
  #revision = 0;

  get version(): string {
    return String(this.#revision);
  }

  read(key: string): unknown {
    return this.#records.get(key);
  }

  *entries(prefix: string): Generator<readonly [string, unknown]> {
    for (const entry of this.#records) if (entry[0].startsWith(prefix)) yield entry;
  }

  follow(onChange: (key: string, value: unknown) => void, signal: AbortSignal): void {
    this.#followers.add(onChange);
    signal.addEventListener('abort', () => this.#followers.delete(onChange), { once: true });
  }

  /** One revision. */
  put(entries: Readonly<Record<string, unknown>>): void {
    this.#revision += 1;
    for (const [key, value] of Object.entries(entries))
      if (value === undefined) this.#records.delete(key);
      else this.#records.set(key, value);
    for (const [key, value] of Object.entries(entries)) for (const tell of this.#followers) tell(key, value);
  }

  stage(name: string, status: Partial<ReplicaStatus> & Pick<ReplicaStatus, 'stage'>): void {
    this.put({ [statusKey('Replica', 'a', name)]: { status } });
  }

  statusOf(name: string): ReplicaStatus | undefined {
    return (this.read(statusKey('Replica', 'a', name)) as { status: ReplicaStatus } | undefined)?.status;
  }

  /** A replica of tenant `a` that waits. */
  queue(name: string, workload = 'web'): void {
    this.put({
      [objectKey('Replica', 'a', name)]: {
        metadata: { name, namespace: 'a', uid: `uid-${name}` },
        spec: { workload, slot: name, incarnation: 1, revision: `${workload}-1` },
      },
      [statusKey('Replica', 'a', name)]: { status: { stage: 'Queued' } },
    });
  }

  /** The capacity of the only node, as its account shows it: so many replicas fit. */
  offer(allocatable: number, used: number): void {
    this.put({
      '/a/node/n': {
        gate: { state: 'Open', since: '' },
        allocatable: { cpuMilli: allocatable },
        devices: {},
        used: { cpuMilli: used },
        claims: { devices: {}, ports: {} },
        revisions: {},
      },
    });
  }

  lead(epoch: number): void {
    this.put({ [leaseKey('scheduler')]: { epoch: { cell: 1, number: epoch } } });
  }
}

const nodeEpoch = { cell: 1, number: 1 };

/** A core for one node that counts replicas: enough to see what the shell does with its answers. */
export class CountingCore implements SchedulingCore {
  readonly #cell = new CellState();
  readonly assumed = new Set<string>();
  readonly isLooking = false;
  readonly reservingGangs = new Set<string>();
  turns = 0;
  /** Others have to leave for all that it places. */
  isFull = false;

  constructor(private readonly records: Records) {}

  apply(key: string, value: unknown): ReplicaState | undefined {
    const stage = (value as { status?: ReplicaStatus } | undefined)?.status?.stage;
    if (key.startsWith('/s/Replica/') && stage !== 'Queued')
      this.assumed.delete(key.slice('/s/Replica/'.length));
    return this.#cell.apply(key, value);
  }
  replica(tenant: string, name: string): ReplicaState | undefined {
    return this.#cell.replica(tenant, name);
  }
  unassume({ tenant, name }: { readonly tenant: string; readonly name: string }): void {
    this.assumed.delete(`${tenant}/${name}`);
  }
  look(): readonly never[] {
    return [];
  }
  readonly hasEasings = false;
  takeEasings(): readonly never[] {
    return [];
  }
  gangView(): undefined {
    return undefined;
  }
  gangMember(): undefined {
    return undefined;
  }
  planGang(): ReturnType<GangCore['planGang']> {
    return { replicas: [], isFor: () => true, goOn: () => ({ kind: 'NotReady' }), giveUp: () => undefined };
  }
  propose({ classKey, replicas }: Turn, { version, ageMs }: TurnMoment): TurnResult {
    this.turns += 1;
    const account = this.records.read('/a/node/n') as
      | { allocatable: { cpuMilli: number }; used: { cpuMilli: number } }
      | undefined;
    const offered = account?.allocatable.cpuMilli ?? 0;
    const free = Math.max(0, offered - (account?.used.cpuMilli ?? 0) - this.assumed.size);
    const placements = replicas.slice(0, free).map((replica) => ({ replica, node: 'n', nodeEpoch }));
    for (const { replica } of placements) this.assumed.add(`${replica.tenant}/${replica.name}`);
    const waits = replicas
      .slice(free)
      .map((replica): Wait => ({ replica, reason: 'NodeFull', message: 'full', reasons: ['NodeFull'] }));
    const result = waits.length === 0 ? 'Placed' : placements.length === 0 ? 'NotPlaced' : 'Partly';
    const [, revision = ''] = classKey.split('/');
    const decision = {
      ...{ workload: replicas[0]?.workload ?? '', revision, generation: 1, policyRevision: 'test' },
      ...{ snapshot: { revision: version, ageMs, nodes: 1 }, result: result as 'Placed' },
    };
    const plans = placements.map((placement) => ({ ...placement, victims: [], frees: {} }));
    return this.isFull
      ? { placements: [], plans, waits, later: [], decision }
      : { placements, plans: [], waits, later: [], decision };
  }
}

type Answer = 'Commit' | 'Lose' | 'LoseAfterCommit' | 'Throw' | Extract<Outcome<never>, { kind: 'Rejected' }>;

/** An authority that answers as told, and keeps what it was asked. */
export class ScriptedAuthority {
  readonly proposals: Proposal[] = [];
  readonly postponed: string[] = [];
  calls = 0;
  answer: (proposal: Proposal) => Answer = () => 'Commit';
  reserve: Authority['reserve'] = (asked) => {
    this.calls += 1;
    if (this.answer(asked) === 'Throw') return Promise.reject(new Error('no way there'));
    const { name, uid } = asked.replica;
    this.records.stage(name, { stage: 'Scheduled', hold: `hold-${name}` });
    const result = { reservation: `hold-${name}`, uid };
    return Promise.resolve({ kind: 'Committed', result, revision: this.records.version });
  };

  constructor(private readonly records: MapRecords) {}

  get port(): Authority {
    const { records } = this;
    const port: Pick<Authority, 'bind' | 'reserve' | 'postpone'> = {
      reserve: (asked) => this.reserve(asked),
      bind: (proposals) => {
        this.calls += 1;
        this.proposals.push(...proposals);
        const answers = proposals.map((proposal) => this.answer(proposal));
        if (answers.includes('Throw')) return Promise.reject(new Error('no way there'));
        return Promise.resolve(
          proposals.map((proposal, index) => this.#outcome(proposal, answers[index] as Answer)),
        );
      },
      postpone: ({ replica, reason, message }) => {
        this.postponed.push(`${replica.name} ${reason}`);
        const conditions = [
          { type: 'SchedulingRetrying', status: 'True' as const, reason, message, lastTransitionTime: '' },
        ];
        records.stage(replica.name, { stage: 'Queued', conditions });
        return Promise.resolve({ kind: 'Committed', result: undefined, revision: records.version });
      },
    };
    return port as Authority;
  }

  #outcome({ replica }: Proposal, answer: Answer): Outcome<{ fence: string }> {
    if (typeof answer === 'object') return answer;
    if (answer !== 'Lose') this.records.stage(replica.name, { stage: 'Bound' });
    if (answer !== 'Commit') return { kind: 'UnknownOutcome', message: 'timed out' };
    return { kind: 'Committed', result: { fence: '1' }, revision: this.records.version };
  }
}
