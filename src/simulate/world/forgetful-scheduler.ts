import type { Gang } from '../../model/kinds/gang.js';
import type { Node } from '../../model/kinds/node.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { Actor } from '../../model/ports.js';
import { refOf } from '../../model/replica-ref.js';
import type { SimProcess } from './sim-process.js';
import type { World } from './world.js';

const lease = 'scheduler-rival-forgetful';
const everyMs = 800;
/** Its holds last for so long: the collector ends them. */
const deadlineSeconds = 3;

/** A scheduler that begins gangs, holds for members one at a time, and never comes back to a hold. Until faults stop. */
export function startForgetfulScheduler(world: World, servers: readonly SimProcess[]): SimProcess {
  return world.addProcess('forgetful-scheduler', async (life) => {
    const { objects } = await world.reach(life);
    const authority = world.remoteAuthority(life, servers);
    const { random } = life.env;
    let actor: Actor | undefined;
    for (;;) {
      await life.env.sleep(everyMs / 2 + random.integer(everyMs));
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
        actor = { kind: 'scheduler', name: 'forgetful', lease: { name: lease, epoch: taken.result.epoch } };
      }
      const nodes = [...objects.list<Node>('Node')].filter(({ status }) => status?.epoch !== undefined);
      for (const gang of objects.list<Gang>('Gang')) {
        const { namespace: tenant = '', name, uid } = gang.metadata;
        const state = gang.status?.state ?? 'Waiting';
        const id = life.env.uuid();
        if (state === 'Waiting')
          await authority
            .moveGang({ actor, tenant, gang: name, uid, to: 'Reserving', operation: id })
            .catch(() => undefined);
        const member = [...objects.list<Replica>('Replica', tenant)].find(
          ({ spec, status }) => spec.gang === name && status?.stage === 'Queued',
        );
        if (state !== 'Reserving' || member === undefined || nodes.length === 0) continue;
        const node = random.pick(nodes);
        const outcome = await authority
          .reserve({
            ...{ actor, replica: refOf(member), node: node.metadata.name, operation: id },
            nodeEpoch: node.status?.epoch ?? { cell: 1, number: 0 },
            ...{ snapshotRevision: '1', policyRevision: 'builtin', intent: 'Gang', deadlineSeconds },
          })
          .catch(() => undefined);
        if (outcome?.kind === 'Rejected' && outcome.reason === 'StaleEpoch') actor = undefined;
        if (actor === undefined) break;
      }
    }
  });
}
