import { expect } from 'vitest';
import { realEnv } from '../env/real.js';
import type { Replica } from '../model/kinds/replica.js';
import type { BerthObject } from '../model/object.js';
import type {
  Actor,
  Authority,
  Evict,
  Incarnate,
  Move,
  Outcome,
  Proposal,
  Register,
  Release,
  ReleaseHold,
  Report,
  Reserve,
} from '../model/ports.js';
import type { Epoch } from '../model/records.js';
import { draft, kindOf } from '../objects/open-objects.fixture.js';
import type { Store } from '../store/contract.js';
import { MemoryStore } from '../store/memory.js';
import { audit, everything } from './audit.fixture.js';
import type { AuthorityOptions } from './authority.js';
import { addNode, done, lead, openAuthority, refOf } from './open-authority.fixture.js';

const leaders = [
  'scheduler',
  'workload-controller',
  'endpoints-controller',
  'repair-controller',
  'grant-controller',
  'detector',
  'collector',
  'rollout',
  'drain',
] as const;

/** The same authority; after each of its answers every account equals the sum of the charges (S7). */
function audited(authority: Authority, store: Store): Authority {
  return new Proxy(authority, {
    get: (target, name: keyof Authority) => {
      const method = target[name] as (input: unknown) => Promise<unknown>;
      return async (input: unknown): Promise<unknown> => {
        const outcome = await method.call(target, input);
        expect(await audit(store), `after ${name}`).toEqual([]);
        return outcome;
      };
    },
  });
}

export interface CellOptions {
  readonly store?: Store;
  readonly authority?: Partial<AuthorityOptions>;
  readonly isAudited?: boolean;
}

/** A cell whose operations tests can ask for in a word, audited after each. */
export async function openTestCell({ store, authority: options, isAudited = true }: CellOptions = {}) {
  const env = realEnv();
  const opened = await openAuthority(store ?? new MemoryStore(env), env, options);
  const authority = isAudited ? audited(opened.authority, opened.store) : opened.authority;
  const create = async (kind: string, tenant: string | undefined, name: string, spec: object) =>
    (await opened.objects.create(kindOf(kind), tenant, draft(kind, name, spec))).object;
  const actors = {
    user: { kind: 'user', name: 'ann' },
    operator: { kind: 'operator', name: 'olga' },
    agent: { kind: 'agent', name: 'n1' },
  } as Record<Actor['kind'], Actor>;
  for (const kind of leaders) actors[kind] = await lead(opened.authority, kind);
  actors.preemption = { ...actors.scheduler, kind: 'preemption' };
  for (const [name, spec] of Object.entries({
    default: { value: 0 },
    high: { value: 10 },
    humble: { value: 20, preemption: 'Never' },
  }))
    await create('PriorityClass', undefined, name, spec);

  const epochs = new Map<string, Epoch>();
  let operations = 0;
  const operation = (what: string): string => `${what}/${(operations += 1)}`;

  const cell = {
    ...opened,
    authority,
    /** For what no audit would accept. */
    unaudited: opened.authority as Authority,
    actors,
    epochs,
    operation,
    create,
    set: async (kind: string, name: string, spec: object, tenant?: string) => {
      await opened.objects.modify(kindOf(kind), { kind, namespace: tenant, name }, 'spec', (live) => ({
        ...live,
        spec: { ...live.spec, ...spec },
      }));
    },
    tenant: async (name: string, spec: object = {}) => {
      await create('Tenant', undefined, name, spec);
      await cell.grant(name);
    },
    grant: (tenant: string) =>
      authority.grant({ actor: actors['grant-controller'], tenant, operation: operation('grant') }),
    node: async (name: string, more: Partial<Register> = {}): Promise<Epoch> => {
      const epoch = await addNode(authority, name, { operation: operation(`register/${name}`), ...more });
      epochs.set(name, epoch);
      return epoch;
    },
    /** A workload with its first revision, as the controller would make it. */
    workload: async (
      tenant: string,
      name: string,
      resources: object = {},
      { placement = {}, priorityClassName = 'default', template = {}, ...spec }: WorkloadOptions = {},
    ): Promise<BerthObject> => {
      const full = { run: { process: { command: ['sleep', '1'] } }, resources, ...template };
      const workload = await create('Workload', tenant, name, {
        type: 'Service',
        replicas: 1,
        priorityClassName,
        template: full,
        placement,
        ...spec,
      });
      const { template: filled } = workload.spec as { template: object };
      await create('WorkloadRevision', tenant, `${name}-r1`, {
        workload: name,
        revision: 1,
        template: filled,
        placement,
        priorityClassName,
      });
      return workload;
    },
    tryIncarnate: (workload: BerthObject, slot = '0', incarnation = 1, more: Partial<Incarnate> = {}) =>
      authority.incarnate({
        actor: actors['workload-controller'],
        tenant: workload.metadata.namespace ?? '',
        workload: workload.metadata.name,
        workloadUid: workload.metadata.uid,
        slot,
        incarnation,
        revision: `${workload.metadata.name}-r1`,
        stage: 'Queued',
        reason: 'Wanted',
        operation: `incarnate/${workload.metadata.uid}/${slot}/${incarnation}`,
        ...more,
      }),
    incarnate: async (
      workload: BerthObject,
      slot = '0',
      incarnation = 1,
      more: Partial<Incarnate> = {},
    ): Promise<Replica> => done(await cell.tryIncarnate(workload, slot, incarnation, more)).replica,
    proposal: (replica: Replica, node: string, more: Partial<Proposal> = {}): Proposal => ({
      actor: actors.scheduler,
      replica: refOf(replica),
      node,
      nodeEpoch: epochs.get(node) ?? { cell: 1, number: 1 },
      snapshotRevision: replica.metadata.resourceVersion,
      policyRevision: 'builtin',
      operation: operation('place'),
      ...more,
    }),
    bind: async (replica: Replica, node: string, more: Partial<Proposal> = {}) =>
      (await authority.bind([cell.proposal(replica, node, more)]))[0] as Outcome<{ readonly fence: string }>,
    reserve: (replica: Replica, node: string, more: Partial<Reserve> = {}) =>
      authority.reserve({
        ...cell.proposal(replica, node),
        intent: 'Bind',
        deadlineSeconds: 30,
        ...more,
      }),
    report: async (replica: Replica, stage: Report['stage'], more: Partial<Report> = {}) => {
      const { node = 'n1', fence = '' } = (await cell.status(replica)).binding ?? {};
      return authority.report({
        node,
        nodeEpoch: epochs.get(node) ?? { cell: 1, number: 1 },
        replica: refOf(replica),
        fence,
        stage,
        reason: 'Test',
        operation: operation('report'),
        ...more,
      });
    },
    evict: (replica: Replica, kind: Actor['kind'] = 'user', more: Partial<Evict> = {}) =>
      authority.evict({
        actor: actors[kind],
        replica: refOf(replica),
        reason: 'Test',
        operation: operation('evict'),
        ...more,
      }),
    move: async (replica: Replica, kind: Actor['kind'], to: Move['to'], more: Partial<Move> = {}) =>
      authority.move({
        actor: actors[kind],
        replica: refOf(replica),
        from: (await cell.status(replica)).stage,
        to,
        reason: 'Test',
        operation: operation('move'),
        ...more,
      }),
    lose: (replica: Replica) => cell.move(replica, 'repair-controller', 'Unknown'),
    release: (replica: Replica, proof: Release['proof'], kind: Actor['kind'] = 'repair-controller') =>
      authority.release({
        actor: actors[kind],
        replica: refOf(replica),
        proof,
        reason: 'Test',
        operation: operation('release'),
      }),
    releaseHold: (
      tenant: string,
      hold: { reservation: string; uid: string },
      more: Partial<ReleaseHold> = {},
    ) =>
      authority.releaseHold({
        actor: actors.scheduler,
        tenant,
        ...hold,
        as: 'Released',
        reason: 'Test',
        operation: operation('hold'),
        ...more,
      }),
    forget: (replica: Replica, dropSlot: boolean) =>
      authority.forget({
        actor: actors['workload-controller'],
        replica: refOf(replica),
        dropSlot,
        operation: operation('forget'),
      }),
    /** What stands under a key now. */
    record: async <T>(key: string): Promise<T> => (await everything(opened.store)).get(key) as T,
    status: async ({ metadata: { namespace, name } }: Replica): Promise<NonNullable<Replica['status']>> =>
      (await cell.record<{ status: NonNullable<Replica['status']> }>(`/s/Replica/${namespace}/${name}`))
        .status,
    hold: async (tenant: string, { reservation }: { reservation: string }) =>
      (
        await cell.record<{ status: { state: string; now?: object; awaits?: object[]; charge: object } }>(
          `/s/Reservation/${tenant}/${reservation}`,
        )
      ).status,
    leaseVersion: async (name: string): Promise<number> => {
      const [entry] = (await opened.store.read({ from: `/l/${name}`, to: `/l/${name}\0` })).entries;
      return opened.cache.versions.ofObject(entry?.modRevision as never);
    },
  };
  return cell;
}

export interface WorkloadOptions {
  readonly placement?: object;
  readonly priorityClassName?: string;
  readonly template?: object;
  readonly [field: string]: unknown;
}

export type TestCell = Awaited<ReturnType<typeof openTestCell>>;

/** A Service whose template bears a label, which rules of others can select. */
export const labelled = (label: string): WorkloadOptions => ({ template: { labels: { app: label } } });

export { done, refOf };

/** `REASON: message` of a rejection, what it came to otherwise. */
export const answer = (outcome: Outcome<unknown> | undefined): string =>
  outcome?.kind === 'Rejected' ? `${outcome.reason}: ${outcome.message}` : (outcome?.kind ?? 'nothing');
