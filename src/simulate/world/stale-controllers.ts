import type { Node } from '../../model/kinds/node.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { Workload } from '../../model/kinds/workload.js';
import type { WorkloadRevision } from '../../model/kinds/workload-revision.js';
import type { Actor } from '../../model/ports.js';
import { slotKey, type SlotRecord } from '../../model/records.js';
import { refOf } from '../../model/replica-ref.js';
import { isTerminal } from '../../model/stages.js';
import { pretend } from './played-actors.js';
import type { Reach } from './server.js';
import type { Life, SimProcess } from './sim-process.js';
import type { World } from './world.js';

const everyMs = 300;

/**
 * A workload controller and a scheduler whose picture of a slot is old: beside a copy that is lost they ask for the next
 * incarnation, of any revision, and for a place for the one that waits. The authority alone stands between them and a second
 * copy.
 */
export function startStaleControllers(world: World): SimProcess {
  return world.addProcess('stale-controllers', async (life) => {
    const reach = await world.reach(life);
    for (;;) {
      await life.env.sleep(everyMs);
      if (world.faults.isStopped) continue;
      for (const replica of reach.objects.list<Replica>('Replica')) {
        const { workload, slot } = replica.spec;
        const key = slotKey(replica.metadata.namespace ?? '', workload, slot);
        // A parsed boundary: only the authority writes under this key.
        const record = reach.cache.record(key)?.value as SlotRecord | undefined;
        if (record?.lost === undefined || record.replicaUid !== replica.metadata.uid) continue;
        const stage = replica.status?.stage ?? 'Queued';
        const acts = isTerminal(stage)
          ? incarnateNext(life, reach, replica)
          : stage === 'Queued' || stage === 'Admitted'
            ? place(life, reach, replica)
            : undefined;
        await acts?.catch(() => undefined);
      }
    }
  });
}

async function incarnateNext(life: Life, reach: Reach, last: Replica): Promise<void> {
  const { objects, authority } = reach;
  const tenant = last.metadata.namespace ?? '';
  const { workload: name, slot, incarnation, gang } = last.spec;
  const workload = objects.get<Workload>('Workload', tenant, name);
  const actor = pretend(life, reach, 'workload-controller');
  const revisions = [...objects.list<WorkloadRevision>('WorkloadRevision', tenant)].filter(
    ({ spec }) => spec.workload === name,
  );
  if (workload === undefined || actor === undefined || revisions.length === 0) return;
  await authority.incarnate({
    ...{ actor, tenant, workload: name, workloadUid: workload.metadata.uid, slot },
    ...{ incarnation: incarnation + 1, revision: life.env.random.pick(revisions).metadata.name },
    ...{ stage: 'Queued', reason: 'Stale', operation: `stale/${life.env.uuid()}` },
    ...(gang !== undefined && { gang }),
  });
}

async function place(life: Life, reach: Reach, replica: Replica): Promise<void> {
  const actor: Actor | undefined = pretend(life, reach, 'scheduler');
  const nodes = [...reach.objects.list<Node>('Node')];
  if (actor === undefined || nodes.length === 0) return;
  const { metadata, status } = life.env.random.pick(nodes);
  if (status?.epoch === undefined) return;
  await reach.authority.bind([
    {
      ...{ actor, replica: refOf(replica), node: metadata.name, nodeEpoch: status.epoch },
      ...{ snapshotRevision: '1', policyRevision: 'builtin', operation: `stale/${life.env.uuid()}` },
    },
  ]);
}
