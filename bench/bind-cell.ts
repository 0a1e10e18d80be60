import type { Env } from '../src/env/env.js';
import { CommitAuthority, type AuthorityOptions } from '../src/commit/authority.js';
import type { Actor, Outcome, Proposal } from '../src/model/ports.js';
import {
  type Epoch,
  objectKey,
  type TenantAccount,
  tenantAccountKey,
  type WorkloadAccount,
  workloadAccountKey,
} from '../src/model/records.js';
import { Versions } from '../src/model/versions.js';
import { Codec } from '../src/objects/codec.js';
import { ObjectCache } from '../src/objects/object-cache.js';
import type { Store } from '../src/store/contract.js';

export interface CellShape {
  readonly nodes: number;
  readonly tenants: number;
  readonly replicas: number;
  /** How many replicas fit on a node: as many as are asked for, unless given. */
  readonly replicasPerNode?: number;
  /** What the accounts of every tenant say is charged already, as if that many replicas had been bound. */
  readonly chargedBefore?: number;
}

const replicaCpuMilli = 100;
const replicaMemoryBytes = 64 * 1024 ** 2;

/** The accounts of a tenant of whom so many replicas are charged. */
function accountsOf(tenant: string, replicas: number): [string, object][] {
  if (replicas === 0) return [];
  const charged = { cpuMilli: replicas * replicaCpuMilli, memoryBytes: replicas * replicaMemoryBytes };
  return [
    [
      tenantAccountKey(tenant),
      { used: { ...charged, replicas }, borrowed: charged, lost: {} } satisfies TenantAccount,
    ],
    [
      workloadAccountKey(tenant, 'work'),
      {
        regions: { local: replicas },
        zones: { 'local/local': replicas },
        disrupted: 0,
      } satisfies WorkloadAccount,
    ],
  ];
}

const object = (
  kind: string,
  namespace: string | undefined,
  name: string,
  spec: object,
): [string, object] => [
  objectKey(kind, namespace, name),
  {
    apiVersion: 'berth.dev/v1',
    kind,
    metadata: {
      name,
      ...(namespace !== undefined && { namespace }),
      uid: `uid-${kind}-${name}`,
      generation: 1,
      creationTimestamp: '2026-01-01T00:00:00Z',
    },
    spec,
  },
];

function done<T>(outcome: Outcome<T>): T {
  if (outcome.kind === 'Committed' || outcome.kind === 'AlreadyCommitted') return outcome.result;
  throw new Error(JSON.stringify(outcome));
}

/** A cell with nodes, tenants, and replicas that wait to be placed: what a scheduler would find. */
export async function openBindCell(
  store: Store,
  env: Env,
  shape: CellShape,
  options: Partial<AuthorityOptions> = {},
) {
  const codec = new Codec();
  const put = async (entries: readonly [string, object][]): Promise<void> => {
    for (let at = 0; at < entries.length; at += 100)
      await store.transact({
        guards: [],
        writes: entries
          .slice(at, at + 100)
          .map(([key, value]) => ({ kind: 'put', key, value: codec.encode(value) })),
      });
  };
  const template = {
    run: { process: { command: ['work'] } },
    resources: { cpu: `${replicaCpuMilli}m`, memory: String(replicaMemoryBytes) },
    execution: 'AtLeastOne',
  };
  const tenants = Array.from({ length: shape.tenants }, (_, index) => `tenant-${index}`);
  await put([
    object('PriorityClass', undefined, 'default', { value: 0 }),
    object('Region', undefined, 'local', { zones: ['local'] }),
    ...tenants.flatMap((tenant) => [
      ...accountsOf(tenant, shape.chargedBefore ?? 0),
      object('Tenant', undefined, tenant, { limit: { cpu: '1000000' }, weight: 1, residency: [] }),
      object('Workload', tenant, 'work', { type: 'Service', replicas: shape.replicas, template }),
      object('WorkloadRevision', tenant, 'work-1', {
        workload: 'work',
        revision: 1,
        template,
        placement: {},
      }),
    ]),
  ]);
  const cache = new ObjectCache({ store, env, codec, versions: new Versions(0) });
  await cache.start();
  const authority = new CommitAuthority({ store, cache, codec, env, cell: 1, ...options });
  const lead = async (kind: Actor['kind']): Promise<Actor> => {
    const { epoch } = done(
      await authority.takeLease({
        name: kind,
        holder: 'bench',
        durationSeconds: 15,
        operation: `take/${kind}`,
      }),
    );
    return { kind, name: 'bench', lease: { name: kind, epoch } };
  };
  const [scheduler, controller, granter] = [
    await lead('scheduler'),
    await lead('workload-controller'),
    await lead('grant-controller'),
  ];
  for (const tenant of tenants) done(await authority.grant({ actor: granter, tenant, operation: 'grant' }));
  const offers = { cpu: `${(shape.replicasPerNode ?? shape.replicas) * replicaCpuMilli}m`, memory: '64Ti' };
  const epochs = new Map<string, Epoch>();
  await inGroups(shape.nodes, async (index) => {
    const node = `node-${index}`;
    epochs.set(
      node,
      done(
        await authority.register({
          node,
          capacity: offers,
          allocatable: offers,
          agent: {},
          leaseSeconds: 40,
          operation: `register/${node}`,
        }),
      ).epoch,
    );
  });
  const proposals: Proposal[] = [];
  await inGroups(shape.replicas, async (index) => {
    const tenant = tenants[index % tenants.length] as string;
    const slot = String(Math.floor(index / tenants.length));
    const { replica } = done(
      await authority.incarnate({
        actor: controller,
        tenant,
        workload: 'work',
        workloadUid: 'uid-Workload-work',
        slot,
        incarnation: 1,
        revision: 'work-1',
        stage: 'Queued',
        reason: 'Wanted',
        operation: `incarnate/${tenant}/${slot}`,
      }),
    );
    const node = `node-${index % shape.nodes}`;
    proposals[index] = {
      actor: scheduler,
      replica: { tenant, name: replica.metadata.name, uid: replica.metadata.uid },
      node,
      nodeEpoch: epochs.get(node) as Epoch,
      snapshotRevision: replica.metadata.resourceVersion,
      policyRevision: 'builtin',
      operation: `bind/${tenant}/${slot}`,
    };
  });
  return { authority, cache, proposals, nodes: [...epochs.keys()], epochs };
}

async function inGroups(count: number, once: (index: number) => Promise<void>): Promise<void> {
  for (let at = 0; at < count; at += 2_000)
    await Promise.all(Array.from({ length: Math.min(2_000, count - at) }, (_, index) => once(at + index)));
}
