import { fenceContract } from '../../model/fence-contract.js';
import type { Node } from '../../model/kinds/node.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { Workload } from '../../model/kinds/workload.js';
import type { Actor, Authority, Outcome } from '../../model/ports.js';
import { leaseKey, type LeaseRecord, nodeLeaseName, slotKey, type SlotRecord } from '../../model/records.js';
import { Leadership } from '../../reconcile/runtime/leadership.js';
import type { Life, SimProcess } from './sim-process.js';
import type { Reach } from './server.js';
import type { World } from './world.js';

const leaseMs = 40_000;

/**
 * Stands in for the repair controller: Unknown when a lease has expired, Released when the fence has, or when an
 * operator attests that nothing runs. It counts on its own clock from when it first saw a lease as it is, and a
 * new leader counts again. Now and then it tries without proof, which nobody must believe.
 */
export function startRepairer(world: World): SimProcess {
  return world.addProcess('repairer', async (life) => {
    const reach = await world.reach(life);
    const { objects, authority } = reach;
    const leadership = new Leadership({
      ...{
        authority,
        objects,
        env: life.env,
        lease: 'repair-controller',
        holder: `repairer-${life.env.uuid().slice(0, 8)}`,
      },
    });
    await leadership.run(async ({ epoch, signal }) => {
      const actor: Actor = {
        kind: 'repair-controller',
        name: 'repairer',
        lease: { name: 'repair-controller', epoch },
      };
      const seen = new Map<string, { readonly version: number; readonly sinceMs: number }>();
      while (!signal.aborted) {
        await life.env.sleep(1_000);
        const nowMs = world.time.nowMs;
        for (const lease of objects.list('Lease')) {
          const version = Number(lease.metadata.resourceVersion);
          if (seen.get(lease.metadata.name)?.version !== version)
            seen.set(lease.metadata.name, { version, sinceMs: nowMs });
        }
        for (const replica of objects.list<Replica>('Replica')) {
          const stood = seen.get(nodeLeaseName(replica.status?.binding?.node ?? ''));
          if (stood !== undefined)
            await repair(life, world, reach, actor, replica, {
              ...stood,
              ageMs: nowMs - stood.sinceMs,
            }).catch(() => undefined);
        }
      }
    }, new AbortController().signal);
  });
}

async function repair(
  life: Life,
  world: World,
  reach: Reach,
  actor: Actor,
  replica: Replica,
  lease: { readonly version: number; readonly ageMs: number },
): Promise<void> {
  const { objects, authority } = reach;
  const { namespace: tenant = '', name, uid } = replica.metadata;
  const { stage, binding } = replica.status ?? {};
  const ref = { tenant, name, uid };
  const node = objects.get<Node>('Node', undefined, binding?.node ?? '');
  if (stage === undefined || node?.status?.epoch === undefined) return;
  const mayRun =
    stage === 'Bound' ||
    stage === 'Starting' ||
    stage === 'Ready' ||
    stage === 'Serving' ||
    stage === 'Releasing';
  if (mayRun && lease.ageMs > leaseMs) {
    await authority.move({
      actor,
      replica: ref,
      from: stage,
      to: 'Unknown',
      reason: 'LeaseExpired',
      operation: `lost/${uid}/${lease.version}`,
    });
    return;
  }
  if (stage !== 'Unknown') return;
  await replace(world, reach, replica).catch(() => undefined);
  const release = (proof: Parameters<Authority['release']>[0]['proof']): Promise<Outcome<unknown>> =>
    authority.release({
      actor,
      replica: ref,
      proof,
      reason: proof.kind,
      operation: `release/${uid}/${life.env.uuid()}`,
    });
  const { random } = life.env;
  if (lease.ageMs > fenceContract.windowSeconds * 1_000) {
    const workload = objects.get<Workload>('Workload', tenant, replica.spec.workload);
    const released = release({ kind: 'FenceExpired', leaseRevision: lease.version });
    if (workload?.spec.template.execution === 'AtMostOne') await released;
    else
      await world.mustReject(
        'S5',
        `the release of ${name}, which does not stop by itself, by a fence`,
        released,
      );
  } else if (world.isIdle.get(node.metadata.name)?.() === true && random.chance(0.05)) {
    const operator: Actor = { kind: 'operator', name: 'operator' };
    await authority.attest({
      actor: operator,
      node: node.metadata.name,
      nodeEpoch: node.status.epoch,
      reason: 'looked',
      forSeconds: 3_600,
      operation: `attest/${uid}`,
    });
    await release({ kind: 'Attested' });
  } else if (random.chance(0.05) && !world.faults.isStopped)
    await release(
      random.chance(0.5) ? { kind: 'Attested' } : { kind: 'FenceExpired', leaseRevision: lease.version - 1 },
    );
}

/** Has the next incarnation made, as the workload controller will on repair's word: whether it may is not asked here. */
async function replace(world: World, { objects, authority, cache }: Reach, replica: Replica): Promise<void> {
  const { namespace: tenant = '' } = replica.metadata;
  const { workload: name, slot, revision } = replica.spec;
  const workload = objects.get<Workload>('Workload', tenant, name);
  const lease = cache.record(leaseKey('workload-controller'))?.value as LeaseRecord | undefined;
  const record = cache.record(slotKey(tenant, name, slot))?.value as SlotRecord | undefined;
  if (
    workload === undefined ||
    lease === undefined ||
    record?.replicaUid !== replica.metadata.uid ||
    world.faults.isStopped
  )
    return;
  const incarnation = record.incarnation + 1;
  await authority.incarnate({
    actor: {
      kind: 'workload-controller',
      name: 'repairer',
      lease: { name: 'workload-controller', epoch: lease.epoch },
    },
    ...{ tenant, workload: name, workloadUid: workload.metadata.uid, slot, incarnation, revision },
    ...{ stage: 'Queued', reason: 'Lost', operation: `replace/${replica.metadata.uid}` },
  });
}
