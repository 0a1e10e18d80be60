import { NodeHub } from '../../commit/nodes/node-hub.js';
import { fenceContract } from '../../model/fence-contract.js';
import { FreshnessObserver } from '../../observe/freshness-observer.js';
import { Controllers } from '../../reconcile/controllers.js';
import type { SimProcess } from './sim-process.js';
import { wakeUpsOf } from './server.js';
import type { World } from './world.js';

/** A server: objects, authority, node streams and all controllers over the store of the world; the detector if asked. */
export function startServer(world: World, name: string, { detects = false } = {}): SimProcess {
  return world.addProcess(name, async (life) => {
    const reach = await world.reach(life);
    void world.witness.follow(reach);
    const never = new AbortController().signal;
    const hub = new NodeHub({
      ...{ objects: reach.objects, authority: reach.authority, env: life.env },
      ...{ fence: () => fenceContract, nodes: () => reach.cache.count('Node') },
    });
    hub.start(never);
    world.streams.set(life, hub);
    const freshness = new FreshnessObserver({ objects: reach.objects, env: life.env });
    freshness.start(never);
    const controllers = new Controllers({
      ...{ objects: reach.objects, authority: reach.authority, env: life.env },
      wakeUps: wakeUpsOf(reach, world.faults),
      holder: `${name}-${life.env.uuid().slice(0, 8)}`,
      // What goes wrong is tried again; whether enough of it does is for the liveness rules to say.
      report: () => undefined,
      resyncMs: 20_000,
      ...(detects && { freshness }),
    });
    await Promise.all([controllers.run(never), reach.collector.run(never)]);
  });
}
