import type { Replica } from '../../model/kinds/replica.js';
import type { Actor } from '../../model/ports.js';
import { refOf } from '../../model/replica-ref.js';
import type { SimProcess } from './sim-process.js';
import type { World } from './world.js';

const lease = 'rollout';
const everyMs = 1_500;

/**
 * A rollout that asks serving replicas of one workload to leave, one after the other, and counts nothing: the disruption
 * limit that the authority keeps is all that bounds it. Until faults stop.
 */
export function startHastyRollout(
  world: World,
  servers: readonly SimProcess[],
  workload: string,
): SimProcess {
  return world.addProcess('hasty-rollout', async (life) => {
    const { objects } = await world.reach(life);
    const authority = world.remoteAuthority(life, servers);
    let actor: Actor | undefined;
    for (;;) {
      await life.env.sleep(everyMs);
      if (world.faults.isStopped) continue;
      if (actor === undefined) {
        const seen = objects.get('Lease', undefined, lease);
        const taken = await authority
          .takeLease({
            ...{ name: lease, holder: life.member.name, durationSeconds: 15 },
            operation: `take/${life.env.uuid()}`,
            ...(seen !== undefined && { unchangedSince: Number(seen.metadata.resourceVersion) }),
          })
          .catch(() => undefined);
        if (taken?.kind !== 'Committed') continue;
        actor = { kind: 'rollout', name: 'hasty', lease: { name: lease, epoch: taken.result.epoch } };
      }
      const serving = [...objects.list<Replica>('Replica')].filter(
        ({ spec, status }) => spec.workload === workload && status?.stage === 'Serving',
      );
      if (serving.length === 0) continue;
      await authority
        .evict({
          ...{ actor, replica: refOf(life.env.random.pick(serving)), reason: 'NewRevision' },
          operation: `rollout/${life.env.uuid()}`,
        })
        .catch(() => undefined);
    }
  });
}
