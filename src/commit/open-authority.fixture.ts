import type { Env } from '../env/env.js';
import type { BerthObject } from '../model/object.js';
import type { Actor, Authority, Outcome, Proposal, Register } from '../model/ports.js';
import { refOf } from '../model/replica-ref.js';
import type { Epoch } from '../model/records.js';
import type { Replica } from '../model/kinds/replica.js';
import { Codec } from '../objects/codec.js';
import { ObjectCache } from '../objects/object-cache.js';
import { openCell } from '../objects/cell.js';
import { ownStore } from '../objects/freshness.js';
import { ObjectStore } from '../objects/object-store.js';
import { Admission } from '../objects/admission.js';
import { Validator } from '../model/validate.js';
import { Versions } from '../model/versions.js';
import { draft, kindOf } from '../objects/open-objects.fixture.js';
import type { Store } from '../store/contract.js';
import { CommitAuthority, type AuthorityOptions } from './authority.js';

const validator = new Validator();

/** What an operation came to, for tests that need it to have gone well. */
export function done<T>(outcome: Outcome<T> | undefined): T {
  if (outcome?.kind === 'Committed' || outcome?.kind === 'AlreadyCommitted') return outcome.result;
  throw new Error(`expected it to commit: ${JSON.stringify(outcome)}`);
}

/** One server's authority and objects over a store, for tests. */
export async function openAuthority(store: Store, env: Env, options: Partial<AuthorityOptions> = {}) {
  const { base } = await openCell(store, env);
  const codec = new Codec();
  const cache = new ObjectCache({ store, env, codec, versions: new Versions(base) });
  await cache.start();
  const tenantKind = kindOf('Tenant');
  const objects = new ObjectStore({
    store,
    cache,
    codec,
    env,
    admission: new Admission(validator),
    tenantKind,
    freshness: ownStore(cache),
  });
  const authority = new CommitAuthority({ store, cache, codec, env, cell: 1, ...options });
  return { store, env, cache, objects, authority };
}

export type Opened = Awaited<ReturnType<typeof openAuthority>>;

export async function lead(
  authority: Authority,
  kind: Actor['kind'],
  lease: string = kind,
  name = 'test',
): Promise<Actor> {
  const { epoch } = done(
    await authority.takeLease({
      name: lease,
      holder: name,
      durationSeconds: 15,
      operation: `take/${lease}/${name}`,
      unchangedSince: 'Alone',
    }),
  );
  return { kind, name, lease: { name: lease, epoch } };
}

/** A small cell: a tenant with a grant, a workload with a revision, actors that lead. */
export async function openCellOf(opened: Opened, tenantSpec: object = {}, tenant = 'fraud') {
  const { objects, authority } = opened;
  const create = (kind: string, namespace: string | undefined, object: BerthObject): Promise<unknown> =>
    objects.create(kindOf(kind), namespace, object);
  if (opened.cache.get({ kind: 'PriorityClass', namespace: undefined, name: 'default' }) === undefined)
    await create('PriorityClass', undefined, draft('PriorityClass', 'default', { value: 0 }));
  await create('Tenant', undefined, draft('Tenant', tenant, tenantSpec));
  const scheduler = await lead(authority, 'scheduler');
  const controller = await lead(authority, 'workload-controller');
  const granter = await lead(authority, 'grant-controller');
  done(await authority.grant({ actor: granter, tenant, operation: 'grant/1' }));

  const addWorkload = async (
    name: string,
    resources: object = {},
    more: { spec?: object; template?: object; placement?: object } = {},
  ) => {
    const template = { run: { process: { command: ['sleep', '1'] } }, resources, ...more.template };
    const workload = draft('Workload', name, {
      type: 'Service',
      replicas: 1,
      template,
      placement: more.placement ?? {},
      ...more.spec,
    });
    const { object } = await objects.create(kindOf('Workload'), tenant, workload);
    await create(
      'WorkloadRevision',
      tenant,
      draft('WorkloadRevision', `${name}-r1`, {
        workload: name,
        revision: 1,
        template,
        placement: more.placement ?? {},
      }),
    );
    return object;
  };
  const incarnate = async (
    workload: BerthObject,
    slot = '0',
    incarnation = 1,
    gang?: string,
  ): Promise<Replica> =>
    done(
      await authority.incarnate({
        actor: controller,
        tenant,
        workload: workload.metadata.name,
        workloadUid: workload.metadata.uid,
        slot,
        incarnation,
        revision: `${workload.metadata.name}-r1`,
        stage: 'Queued',
        reason: 'Wanted',
        operation: `incarnate/${workload.metadata.uid}/${slot}/${incarnation}`,
        ...(gang !== undefined && { gang }),
      }),
    ).replica;
  return { tenant, scheduler, controller, granter, addWorkload, incarnate };
}

export async function addNode(
  authority: Authority,
  node: string,
  more: Partial<Register> = {},
): Promise<Epoch> {
  const offers = {
    cpu: '8',
    memory: '16Gi',
    ...(more.devices && {
      devices: Object.fromEntries(Object.entries(more.devices).map(([k, v]) => [k, v.length])),
    }),
  };
  const { epoch } = done(
    await authority.register({
      node,
      capacity: offers,
      allocatable: offers,
      agent: {},
      leaseSeconds: 40,
      journal: `journal of ${node}`,
      operation: `register/${node}/1`,
      ...more,
    }),
  );
  return epoch;
}

export const proposal = (
  scheduler: Actor,
  replica: Replica,
  node: string,
  nodeEpoch: Epoch,
  operation = `bind/${replica.metadata.uid}`,
): Proposal => ({
  actor: scheduler,
  replica: refOf(replica),
  node,
  nodeEpoch,
  snapshotRevision: replica.metadata.resourceVersion,
  policyRevision: 'builtin',
  operation,
});

export { refOf } from '../model/replica-ref.js';
