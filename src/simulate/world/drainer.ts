import type { Node } from '../../model/kinds/node.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { Actor } from '../../model/ports.js';
import { Leadership } from '../../reconcile/runtime/leadership.js';
import type { SimProcess } from './sim-process.js';
import type { World } from './world.js';

/** Stands in for the drain controller: evicts whatever is on nodes that drain. */
export function startDrainer(world: World): SimProcess {
  return world.addProcess('drainer', async (life) => {
    const { objects, authority } = await world.reach(life);
    const leadership = new Leadership({
      ...{
        authority,
        objects,
        env: life.env,
        lease: 'drain',
        holder: `drainer-${life.env.uuid().slice(0, 8)}`,
      },
    });
    await leadership.run(async ({ epoch, signal }) => {
      const actor: Actor = { kind: 'drain', name: 'drainer', lease: { name: 'drain', epoch } };
      while (!signal.aborted) {
        await life.env.sleep(700);
        const draining = new Set(
          [...objects.list<Node>('Node')]
            .filter(({ spec }) => spec.drain !== undefined)
            .map(({ metadata }) => metadata.name),
        );
        for (const replica of objects.list<Replica>('Replica')) {
          const { stage, binding } = replica.status ?? {};
          const mayRun =
            stage === 'Bound' || stage === 'Starting' || stage === 'Ready' || stage === 'Serving';
          if (!mayRun || !draining.has(binding?.node ?? '')) continue;
          const { namespace = '', name, uid } = replica.metadata;
          await authority
            .evict({
              actor,
              replica: { tenant: namespace, name, uid },
              reason: 'Drained',
              operation: `drain/${uid}`,
            })
            .catch(() => undefined);
        }
      }
    }, new AbortController().signal);
  });
}
