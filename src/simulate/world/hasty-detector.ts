import type { Node } from '../../model/kinds/node.js';
import type { Epoch } from '../../model/records.js';
import { pretend } from './played-actors.js';
import type { SimProcess } from './sim-process.js';
import type { World } from './world.js';

const everyMs = 300;

/**
 * A rival of the detector, under the epoch that the real one has: it says of nodes that they are late, and that they are
 * there again, under the epoch that they had when it looked at them some time ago.
 */
export const startHastyDetector = (world: World): SimProcess =>
  world.addProcess('hasty-detector', async (life) => {
    const reach = await world.reach(life);
    const { random } = life.env;
    const seen = new Map<string, Epoch>();
    for (;;) {
      await life.env.sleep(everyMs);
      const nodes = [...reach.objects.list<Node>('Node')];
      const actor = pretend(life, reach, 'detector');
      if (world.faults.isStopped || actor === undefined || nodes.length === 0) continue;
      const { metadata, status } = random.pick(nodes);
      const looked = seen.get(metadata.name);
      if (status?.epoch !== undefined && (looked === undefined || random.chance(0.3)))
        seen.set(metadata.name, status.epoch);
      const nodeEpoch = seen.get(metadata.name);
      if (nodeEpoch === undefined) continue;
      const reachability = random.chance(0.7) ? 'Fresh' : 'Suspect';
      await reach.authority
        .gate({
          ...{ actor, node: metadata.name, nodeEpoch, reachability },
          ...{ reason: 'Hasty', operation: `hasty/${life.env.uuid()}` },
        })
        .catch(() => undefined);
    }
  });
