import { Controllers } from '../../reconcile/controllers.js';
import type { SimProcess } from './sim-process.js';
import { wakeUpsOf } from './server.js';
import type { World } from './world.js';

/** A server: objects, authority and all controllers over the store of the world. */
export function startServer(world: World, name: string): SimProcess {
  return world.addProcess(name, async (life) => {
    const reach = await world.reach(life);
    void world.witness.follow(reach);
    const controllers = new Controllers({
      ...{ objects: reach.objects, authority: reach.authority, env: life.env },
      wakeUps: wakeUpsOf(reach, world.faults),
      holder: `${name}-${life.env.uuid().slice(0, 8)}`,
      // What goes wrong is tried again; whether enough of it does is for the liveness rules to say.
      report: () => undefined,
      resyncMs: 20_000,
    });
    const never = new AbortController().signal;
    await Promise.all([controllers.run(never), reach.collector.run(never)]);
  });
}
