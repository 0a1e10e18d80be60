import { addAmounts, type Amount, amountOf, subtractAmounts } from '../../model/amount.js';
import type { ReplicaStatus } from '../../model/kinds/replica.js';
import type { Charge } from '../../model/parts/charge.js';
import type { Placement } from '../../model/parts/placement.js';
import {
  emptyTenantAccount,
  emptyWorkloadAccount,
  leaseKey,
  type LeaseRecord,
  type NodeAccount,
  nodeAccountKey,
  type NodeEpoch,
  nodeEpochKey,
  nodeLeaseName,
  objectKey,
  replicaName,
  type SlotRecord,
  slotKey,
  statusKey,
  type TenantAccount,
  tenantAccountKey,
  type WorkloadAccount,
  workloadAccountKey,
} from '../../model/records.js';
import { isTerminal, type Stage } from '../../model/stages.js';
import { type Draft, TestCell } from './cell.fixture.js';
import { simulatedVersions } from './simulated-versions.js';

const tenant = 'shop';
const at = '2026-01-31T13:05:00Z';
const epoch = { cell: 1, number: 1 };
const leases = [
  'scheduler',
  'workload-controller',
  'repair-controller',
  'endpoints-controller',
  'drain',
  'collector',
];

export const replicaKey = (name: string): string => statusKey('Replica', tenant, name);
export const holdKey = (name: string): string => statusKey('Reservation', tenant, `hold-${name}`);
type Stored<T> = { readonly status: T };
type HoldStatus = { readonly state: string; readonly charge: Charge; readonly [field: string]: unknown };

interface Wants {
  readonly placement?: Placement;
  readonly execution?: 'AtLeastOne' | 'AtMostOne';
  readonly priorityClassName?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly resources?: object;
  readonly type?: string;
}

interface Said {
  readonly reason?: string;
  readonly evidence?: Readonly<Record<string, string>>;
}

interface Choice {
  readonly devices?: NonNullable<Charge['devices']>;
  readonly ports?: NonNullable<Charge['ports']>;
  readonly rank?: Charge['rank'];
  readonly amounts?: Charge['amounts'];
  readonly isFenced?: boolean;
}

/** A cell whose authority keeps every rule, written down separately from the checkers and in the shortest way. */
export class HonestCell extends TestCell {
  #operations = 0;

  /** Tenant shop in region eu with zones a and b; nodes n1 in a and n2 in b with 4 cores and 2 gpus each. */
  settled(): this {
    this.object('user', 'Tenant', undefined, tenant, {
      limit: { cpu: '6', replicas: 20 },
      residency: ['EU'],
    });
    this.object('user', 'Region', undefined, 'eu', { jurisdiction: 'EU', zones: ['a', 'b'] });
    this.object('user', 'Region', undefined, 'us', { jurisdiction: 'US', zones: ['a'] });
    this.object('user', 'PriorityClass', undefined, 'default', { value: 0 });
    this.object('user', 'PriorityClass', undefined, 'high', { value: 100, recoveryPools: true });
    for (const name of leases)
      this.transact('server-1', (draft) => draft.put(leaseKey(name), lease(`${name}-1`)));
    this.node('n1', { region: 'eu', zone: 'a' });
    this.node('n2', { region: 'eu', zone: 'b' });
    this.transact('server-1', (draft) =>
      draft.put(tenantAccountKey(tenant), {
        ...emptyTenantAccount,
        grant: { most: { cpuMilli: 6_000, replicas: 20 }, epoch, source: 'Whole' },
      } satisfies TenantAccount),
    );
    this.workload('web');
    this.workload('once', { execution: 'AtMostOne' });
    return this;
  }

  object(
    by: string,
    kind: string,
    namespace: string | undefined,
    name: string,
    spec: object,
    metadata = {},
  ): void {
    this.transact(by, (draft) =>
      draft.put(objectKey(kind, namespace, name), {
        apiVersion: 'berth.dev/v1',
        kind,
        metadata: {
          name,
          ...(namespace && { namespace }),
          uid: `uid-${kind}-${name}`,
          generation: 1,
          ...metadata,
        },
        spec,
      }),
    );
  }

  node(name: string, spec: object, labels: Readonly<Record<string, string>> = {}): void {
    this.object('user', 'Node', undefined, name, spec, { labels });
    this.transact('server-1', (draft) => {
      draft.put(nodeAccountKey(name), {
        gate: { state: 'Open', since: at },
        allocatable: { cpuMilli: 4_000, memoryBytes: 8 * 2 ** 30, devices: { gpu: 2 } },
        devices: { gpu: [`${name}-g0`, `${name}-g1`] },
        used: {},
        claims: { devices: {}, ports: {} },
        revisions: {},
      } satisfies NodeAccount);
      draft.put(nodeEpochKey(name), { epoch, state: 'Open', operation: 'register' } satisfies NodeEpoch);
      draft.put(leaseKey(nodeLeaseName(name)), lease(name));
    });
  }

  /** A workload and its revision NAME-1. */
  workload(name: string, wants: Wants = {}, replicas = 1): void {
    const { type = 'Service', placement = {}, execution = 'AtLeastOne' } = wants;
    const onNodeLost = { action: execution === 'AtMostOne' ? 'Fence' : 'Replace' };
    const spec = { type, replicas, placement, template: { execution }, onNodeLost };
    this.object('user-ann', 'Workload', tenant, name, spec);
    this.template(name, 1, wants);
  }

  template(workload: string, number: number, wants: Wants = {}): void {
    const { placement, execution = 'AtLeastOne', priorityClassName = 'default', labels, resources } = wants;
    this.object('controller-1', 'WorkloadRevision', tenant, `${workload}-${number}`, {
      workload,
      revision: number,
      template: {
        run: { process: { command: ['run'] } },
        execution,
        resources: resources ?? { cpu: '1' },
        labels,
      },
      placement,
      priorityClassName,
    });
  }

  incarnate(
    workload: string,
    slot = '0',
    incarnation = 1,
    more: { revision?: number; gang?: string } = {},
  ): string {
    const name = replicaName(workload, slot, incarnation);
    const uid = `uid-${name}`;
    const { revision = 1, gang } = more;
    this.transact('server-1', (draft) => {
      draft.put(objectKey('Replica', tenant, name), {
        apiVersion: 'berth.dev/v1',
        kind: 'Replica',
        metadata: {
          name,
          namespace: tenant,
          uid,
          generation: 1,
          ownerReferences: [
            { kind: 'Workload', name: workload, uid: `uid-Workload-${workload}`, controller: true },
          ],
        },
        spec: { workload, slot, incarnation, revision: `${workload}-${revision}`, ...(gang && { gang }) },
      });
      draft.put(replicaKey(name), {
        status: this.#moved(draft, { stage: 'Queued' }, undefined, 'Queued', 'workload-controller'),
      });
      this.#takeSlot(draft, slotKey(tenant, workload, slot), name, uid, incarnation);
    });
    return name;
  }

  hold(name: string, node: string, choice: Choice = {}, preempted: readonly string[] = []): void {
    this.transact('server-1', (draft) => {
      const charge = this.#charge(draft, name, node, choice);
      const hold = `hold-${name}`;
      const { spec } = draft.get(objectKey('Replica', tenant, name)) as { spec: { gang?: string } };
      draft.put(objectKey('Reservation', tenant, hold), {
        apiVersion: 'berth.dev/v1',
        kind: 'Reservation',
        metadata: { name: hold, namespace: tenant, uid: `uid-${hold}`, generation: 1 },
        spec: {
          owner: { kind: 'Replica', name, uid: `uid-${name}` },
          intent: spec.gang === undefined ? 'Bind' : 'Gang',
          node,
          amounts: charge.amounts,
          deadlineSeconds: 30,
        },
      });
      const awaits = preempted.map((victim) => ({
        replica: victim,
        uid: `uid-${victim}`,
        amounts: charge.amounts,
      }));
      const parts = preempted.length === 0 ? {} : { now: {}, awaits };
      draft.put(holdKey(name), { status: { state: 'Held', nodeEpoch: epoch, charge, ...parts } });
      this.#post(draft, addAmounts, `uid-${hold}`, charge, preempted.length === 0 ? charge.amounts : {});
      this.#change(draft, name, (status) =>
        this.#moved(draft, { ...status, hold }, status.stage, 'Scheduled', 'scheduler'),
      );
    });
  }

  releaseHold(name: string, as: 'Released' | 'Expired' = 'Expired'): void {
    this.transact('server-1', (draft) => {
      const { status } = draft.get(holdKey(name)) as Stored<HoldStatus>;
      draft.put(holdKey(name), { status: { ...status, state: as } });
      this.#post(draft, subtractAmounts, `uid-hold-${name}`, status.charge);
      this.#change(draft, name, ({ hold: _hold, ...rest }) =>
        this.#moved(draft, rest, rest.stage, 'Queued', 'collector'),
      );
    });
  }

  bind(name: string, node: string, choice: Choice = {}): void {
    this.transact('server-1', (draft) => {
      const held = (draft.get(holdKey(name)) as Stored<HoldStatus> | undefined)?.status;
      const isHeld = held?.state === 'Held';
      const charge = isHeld ? held.charge : this.#charge(draft, name, node, choice);
      if (isHeld) {
        this.#post(draft, subtractAmounts, `uid-hold-${name}`, charge);
        draft.put(holdKey(name), { status: { ...held, state: 'Bound' } });
      }
      this.#post(draft, addAmounts, `uid-${name}`, charge);
      const binding = {
        node,
        nodeEpoch: epoch,
        fence: '7',
        isFenced: choice.isFenced ?? true,
        receipt: { snapshotRevision: '1', policyRevision: 'builtin', operation: `bind/${name}` },
      };
      this.#change(draft, name, (status) =>
        this.#moved(draft, { ...status, binding, charge }, status.stage, 'Bound', 'scheduler'),
      );
    });
  }

  /** So much time passes, in which the holders of these leases renew them. */
  pass(seconds: number, held: readonly string[]): void {
    for (const endMs = this.nowMs + seconds * 1_000; this.nowMs < endMs;) {
      this.nowMs = Math.min(endMs, this.nowMs + 5_000) - 1_000;
      this.transact('server-1', (draft) => {
        for (const name of held)
          draft.change<LeaseRecord>(leaseKey(name), (record) => ({
            ...record,
            renewals: record.renewals + 1,
          }));
      });
    }
  }

  /** What is believed of a node, and its gate with it. */
  judge(node: string, reachability: 'Fresh' | 'Suspect' | 'Unknown' | 'Lost'): void {
    this.transact('server-1', (draft) => {
      draft.put(statusKey('Node', undefined, node), { status: { reachability } });
      draft.change<NodeAccount>(nodeAccountKey(node), (account) => ({
        ...account,
        gate: { state: reachability === 'Fresh' ? 'Open' : 'Closed', since: at },
      }));
    });
  }

  /** Any other move; a terminal stage frees the charge and gives what it frees to a hold that awaits it. */
  move(name: string, to: Stage, actor: string, more: Partial<ReplicaStatus> = {}, said: Said = {}): void {
    this.transact(actor.startsWith('agent') ? 'agent-1' : 'server-1', (draft) => {
      this.#change(draft, name, (status) =>
        this.#moved(draft, { ...status, ...more }, status.stage, to, actor, said),
      );
      if (isTerminal(to)) this.#free(draft, name);
    });
  }

  /** A drain asks for its release, and says at which revision it looked. */
  drain(name: string, seen = this.revision): void {
    const seenRevision = String(simulatedVersions.upTo(seen));
    this.move(name, 'Releasing', 'drain', {}, { reason: 'Drained', evidence: { seenRevision } });
  }

  /** Publishes the endpoints of workload `gpu` with this replica, and without it again. */
  list(name: string): void {
    this.publish(name, true);
  }
  unlist(name: string): void {
    this.publish(name, false);
  }
  publish(name: string, isListed: boolean, isSaid = isListed): void {
    this.transact('server-1', (draft) => {
      this.#change(draft, name, ({ isListed: _listed, ...status }) => ({
        ...status,
        ...(isSaid && { isListed: true }),
      }));
      const addresses = isListed ? [{ replica: name, node: 'n1', address: '10.0.0.1' }] : [];
      draft.put(`/s/Endpoints/${tenant}/gpu`, { status: { addresses } });
    });
  }

  /** From Queued to Ready on a node. */
  run(name: string, node: string, choice: Choice = {}): void {
    this.bind(name, node, choice);
    this.move(name, 'Starting', `agent:${node}`);
    this.move(name, 'Ready', `agent:${node}`);
  }

  /** Replaces a replica that is Unknown, which stays charged as lost. */
  replace(workload: string, slot: string, incarnation: number): string {
    this.altering((draft) => {
      const lost = replicaName(workload, slot, incarnation - 1);
      const { charge } = (draft.get(replicaKey(lost)) as Stored<ReplicaStatus>).status;
      if (charge === undefined) throw new Error(`${lost} is not charged`);
      this.#post(draft, subtractAmounts, `uid-${lost}`, charge);
      const lostCharge: Charge = { ...charge, subtotal: 'Lost' };
      this.#post(draft, addAmounts, `uid-${lost}`, lostCharge);
      const condition = {
        type: 'Superseded',
        status: 'True' as const,
        reason: 'Replaced',
        message: '',
        lastTransitionTime: at,
      };
      this.#change(draft, lost, (status) => ({ ...status, charge: lostCharge, conditions: [condition] }));
      draft.change<SlotRecord>(slotKey(tenant, workload, slot), (record) => ({
        ...record,
        lost: { replica: lost, replicaUid: `uid-${lost}` },
      }));
    });
    return this.incarnate(workload, slot, incarnation);
  }

  forget(name: string, slotOfName?: string): void {
    this.transact('server-1', (draft) => {
      draft.put(objectKey('Replica', tenant, name), undefined);
      draft.put(replicaKey(name), undefined);
      if (slotOfName !== undefined) draft.put(slotOfName, undefined);
    });
  }

  /** Everything there is to do, with nothing wrong in it. */
  ordinaryDay(): this {
    this.settled();
    this.workload('gpu', { resources: { cpu: '1', devices: { gpu: 1 }, ports: ['http', 'admin:9000'] } });
    const [web, once, gpu] = [this.incarnate('web'), this.incarnate('once'), this.incarnate('gpu')];
    this.hold(web, 'n1');
    this.releaseHold(web);
    this.bind(web, 'n1');
    this.hold(once, 'n2');
    this.bind(once, 'n2');
    this.run(gpu, 'n1', {
      devices: { gpu: ['n1-g1'] },
      ports: { http: 20_000, admin: 9_000 },
      rank: 'Borrowed',
    });
    this.move(gpu, 'Serving', 'endpoints-controller');
    this.list(gpu);
    this.move(web, 'Starting', 'agent:n1');
    this.move(once, 'Starting', 'agent:n2');
    this.move(once, 'Succeeded', 'agent:n2');
    this.incarnate('once', '0', 2);
    this.forget(once);
    this.move(web, 'Unknown', 'repair-controller');
    const replacement = this.replace('web', '0', 2);
    this.run(replacement, 'n2');
    this.move(web, 'Releasing', 'agent:n1');
    this.altering((draft) =>
      draft.change<SlotRecord>(slotKey(tenant, 'web', '0'), ({ lost: _lost, ...record }) => record),
    );
    this.move(web, 'Released', 'agent:n1');
    this.drain(gpu);
    this.unlist(gpu);
    this.move(gpu, 'Released', 'agent:n1');
    this.forget(gpu, slotKey(tenant, 'gpu', '0'));
    this.object('user', 'Node', undefined, 'n3', { region: 'eu', zone: 'a', drain: {} });
    this.transact('server-1', (draft) =>
      draft.put(statusKey('Node', undefined, 'n3'), {
        status: { drain: { state: 'Complete', observedGeneration: 1 } },
      }),
    );
    this.altering((draft) =>
      draft.change<LeaseRecord>(leaseKey('drain'), (record) => ({ ...record, renewals: 2 })),
    );
    this.transact('server-1', () => undefined);
    return this;
  }

  #charge(draft: Draft, name: string, node: string, choice: Choice): Charge {
    const { spec } = draft.get(objectKey('Replica', tenant, name)) as {
      spec: { workload: string; revision: string };
    };
    const { spec: place } = draft.get(objectKey('Node', undefined, node)) as {
      spec: { region: string; zone: string };
    };
    const { spec: revision } = draft.get(objectKey('WorkloadRevision', tenant, spec.revision)) as {
      spec: { template: { resources: Charge['amounts'] & { ports?: unknown } } };
    };
    const { ports: _, ...amounts } = revision.template.resources;
    const { workload, revision: revisionName } = spec;
    return {
      tenant,
      node,
      rank: 'Guaranteed',
      amounts,
      workload,
      revision: revisionName,
      ...place,
      ...choice,
    };
  }

  #change(draft: Draft, name: string, change: (status: ReplicaStatus) => ReplicaStatus): void {
    draft.change<Stored<ReplicaStatus>>(replicaKey(name), ({ status }) => ({ status: change(status) }));
  }

  #moved(
    draft: Draft,
    status: ReplicaStatus,
    from: Stage | undefined,
    to: Stage,
    actor: string,
    { reason = 'Because', evidence }: Said = {},
  ): ReplicaStatus {
    const leaseName = actor.startsWith('agent:') || actor === 'user' ? undefined : actor;
    const record =
      leaseName === undefined
        ? (draft.get(nodeEpochKey(actor.slice('agent:'.length))) as NodeEpoch | undefined)
        : (draft.get(leaseKey(leaseName)) as LeaseRecord | undefined);
    const transition = {
      ...(from && { from }),
      to,
      actor: actor.includes(':') ? actor : `${actor}:one`,
      reason,
      revision: String(this.revision),
      at,
      operation: `operation-${(this.#operations += 1)}`,
      ...(record && { epoch: record.epoch }),
      ...((leaseName ?? evidence) && { evidence: { ...(leaseName && { lease: leaseName }), ...evidence } }),
    };
    return { ...status, stage: to, transitions: [...(status.transitions ?? []), transition].slice(-16) };
  }

  #takeSlot(draft: Draft, key: string, replica: string, replicaUid: string, incarnation: number): void {
    const record: SlotRecord = { incarnation, replica, replicaUid, operation: `incarnate/${replica}` };
    draft.put(key, record);
    const [, , , workload = ''] = key.split('/');
    const account = workloadAccountKey(tenant, workload);
    if (draft.get(account) === undefined) draft.put(account, emptyWorkloadAccount);
  }

  #free(draft: Draft, name: string): void {
    const { charge } = (draft.get(replicaKey(name)) as Stored<ReplicaStatus>).status;
    if (charge === undefined) return;
    this.#post(draft, subtractAmounts, `uid-${name}`, charge);
    for (const [key, value] of [...this.under('/s/Reservation/')]) {
      const { status } = value as Stored<HoldStatus & { awaits?: readonly { uid: string }[] }>;
      if (!status.awaits?.some(({ uid }) => uid === `uid-${name}`)) continue;
      draft.put(key, { status: { ...status, now: status.charge.amounts, awaits: [] } });
      draft.change<NodeAccount>(nodeAccountKey(charge.node), (account) => ({
        ...account,
        used: addAmounts(account.used, amountOf(status.charge.amounts)),
      }));
    }
  }

  #post(
    draft: Draft,
    move: (a: Amount, b: Amount) => Amount,
    uid: string,
    charge: Charge,
    onNode: Charge['amounts'] = charge.amounts,
  ): void {
    const isAdded = move === addAmounts;
    const one = { replicas: 1 };
    const full = addAmounts(amountOf(charge.amounts), one);
    const count = (counts: Readonly<Record<string, number>>, name: string): Record<string, number> => ({
      ...counts,
      [name]: (counts[name] ?? 0) + (isAdded ? 1 : -1),
    });
    const claim = (claims: Readonly<Record<string, string>>, names: readonly (string | number)[]) =>
      isAdded
        ? { ...claims, ...Object.fromEntries(names.map((name) => [name, uid])) }
        : Object.fromEntries(Object.entries(claims).filter(([name]) => !names.map(String).includes(name)));
    draft.change<NodeAccount>(nodeAccountKey(charge.node), (account) => ({
      ...account,
      used: move(account.used, addAmounts(amountOf(onNode), one)),
      claims: {
        devices: claim(account.claims.devices, Object.values(charge.devices ?? {}).flat()),
        ports: claim(account.claims.ports, Object.values(charge.ports ?? {})),
      },
      revisions: count(account.revisions, `${charge.tenant}/${charge.revision}`),
    }));
    draft.change<TenantAccount>(tenantAccountKey(charge.tenant), (account) =>
      charge.subtotal === 'Lost'
        ? { ...account, lost: move(account.lost, full) }
        : {
            ...account,
            used: move(account.used, full),
            ...(charge.rank === 'Borrowed' && {
              borrowed: move(account.borrowed, amountOf(charge.amounts)),
            }),
          },
    );
    draft.change<WorkloadAccount>(workloadAccountKey(charge.tenant, charge.workload ?? ''), (account) => ({
      ...account,
      regions: count(account.regions, charge.region ?? ''),
      zones: count(account.zones, `${charge.region}/${charge.zone}`),
    }));
  }
}

function lease(holder: string): LeaseRecord {
  return {
    holder,
    epoch,
    durationSeconds: 40,
    acquiredAt: at,
    renewedAt: at,
    renewals: 1,
    operation: 'take',
  };
}
