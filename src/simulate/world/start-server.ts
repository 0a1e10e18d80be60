import { NodeHub } from '../../commit/nodes/node-hub.js';
import { fenceIn } from '../../model/fence-problem.js';
import { Controllers } from '../../reconcile/controllers.js';
import { runSchedulers } from './schedulers.js';
import type { SimProcess } from './sim-process.js';
import { wakeUpsOf } from './server.js';
import type { World } from './world.js';

/** A server: objects, authority, node streams and all controllers over the store of the world; schedulers and the detector if asked. */
export function startServer(
  world: World,
  name: string,
  { schedules = false, schedulesFromMs = 0, detects = false, startsFromMs = 0 } = {},
): SimProcess {
  return world.addProcess(name, async (life) => {
    const startsInMs = startsFromMs - world.time.nowMs;
    if (startsInMs > 0) await life.env.sleep(startsInMs);
    const reach = await world.reach(life);
    void world.witness.follow(reach);
    const { signal } = life.stopping;
    const holder = `${name}-${life.env.uuid().slice(0, 8)}`;
    world.expectWait(holder);
    const { actors } = world;
    const objects = actors.reads(reach.objects);
    const hub = new NodeHub({
      ...{ objects: reach.objects, authority: reach.authority, env: actors.streamsEnv(life.env) },
      ...{ nodes: () => reach.cache.count('Node') },
    });
    hub.start(signal);
    world.streams.set(life, hub);
    const freshness = new actors.Observer({ objects: reach.objects, env: life.env });
    freshness.start(signal);
    const controllers = new Controllers({
      ...{ objects, authority: reach.authority, env: actors.controllersEnv(life.env) },
      wakeUps: wakeUpsOf(reach, world.faults),
      holder,
      // What goes wrong is tried again; whether enough of it does is for the liveness rules to say.
      report: () => undefined,
      resyncMs: 20_000,
      ...actors.parts,
      ...(detects && {
        nodes: {
          ...{ ...actors.nodes, freshness },
          fence: () => fenceIn({ read: (key) => reach.cache.record(key)?.value }),
        },
      }),
    });
    const ages = (node: string): number | undefined => freshness.ageMs(node);
    const schedule = async (): Promise<void> => {
      const waitMs = schedulesFromMs - world.time.nowMs;
      if (waitMs > 0) await life.env.sleep(waitMs, signal).catch(() => undefined);
      await runSchedulers(world, reach, { holder, ages, signal });
    };
    await Promise.all([
      controllers.run(signal),
      reach.collector.run(signal),
      ...(schedules ? [schedule()] : []),
    ]);
  });
}
