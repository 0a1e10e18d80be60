import type { Gang } from '../../model/kinds/gang.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { Reservation } from '../../model/kinds/reservation.js';
import { pretend } from './played-actors.js';
import type { SimProcess } from './sim-process.js';
import type { World } from './world.js';

const everyMs = 1_000;

/**
 * A rival of the collector, under whatever epoch the real one has: it gives up holds of gangs that are committed, on nodes that
 * would take their members. The authority alone stands in its way.
 */
export const startHastyGiver = (world: World, isSpared: (node: string) => boolean): SimProcess =>
  world.addProcess('hasty-giver', async (life) => {
    const reach = await world.reach(life);
    const { objects, authority } = reach;
    for (;;) {
      await life.env.sleep(everyMs);
      if (world.faults.isStopped) continue;
      for (const { metadata, spec, status } of objects.list<Reservation>('Reservation')) {
        const { namespace: tenant = '', name, uid } = metadata;
        const gang = objects.get<Replica>('Replica', tenant, spec.owner.name)?.spec.gang ?? '';
        const isCommitted = objects.get<Gang>('Gang', tenant, gang)?.status?.state === 'Committed';
        const actor = pretend(life, reach, 'collector');
        if (status?.state !== 'Held' || !isCommitted || isSpared(spec.node) || actor === undefined) continue;
        await authority
          .releaseHold({
            ...{ actor, tenant, reservation: name, uid, as: 'Released', reason: 'Guessed' },
            operation: `give-up/${life.env.uuid()}`,
          })
          .catch(() => undefined);
      }
    }
  });
