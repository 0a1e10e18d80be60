import { fenceIn } from '../../model/fence-problem.js';
import type { Actor } from '../../model/ports.js';
import { type FenceRecord, leaseKey, type LeaseRecord } from '../../model/records.js';
import type { Reach } from './server.js';
import type { SimProcess } from './sim-process.js';
import type { World } from './world.js';

const everyMs = 500;
const lookMs = 100;

/** An operator who wants the fence of the cell to be another one from some time on, and asks until it is. */
export const startFenceOperator = (
  world: World,
  wanted: readonly { readonly isDue: () => boolean; readonly fence: FenceRecord }[],
): SimProcess =>
  world.addProcess('fence-operator', async (life) => {
    const { authority } = await world.reach(life);
    for (const [index, { isDue, fence }] of wanted.entries()) {
      while (!isDue()) await life.env.sleep(lookMs);
      for (;;) {
        const outcome = await authority
          .setFence({
            ...{ actor: { kind: 'operator', name: 'operator' }, fence, operation: `fence/${index}` },
          })
          .catch(() => undefined);
        if (outcome?.kind === 'Committed' || outcome?.kind === 'AlreadyCommitted') break;
        await life.env.sleep(everyMs);
      }
    }
  });

/**
 * A rival of the repair controller, under whatever epoch the real one has: would lower the window as soon as that is asked for.
 * About how long that was ago it does not lie.
 */
export const startHastySettler = (world: World): SimProcess =>
  world.addProcess('hasty-settler', async (life) => {
    const reach = await world.reach(life);
    const seenMs = new Map<string, number>();
    for (;;) {
      await life.env.sleep(everyMs);
      const { windowSecondsNext, operation = '' } = fenceIn({
        read: (key) => reach.cache.record(key)?.value,
      });
      const actor = repairActor(reach);
      if (windowSecondsNext === undefined || actor === undefined) continue;
      const sinceMs = seenMs.get(operation) ?? world.time.nowMs;
      seenMs.set(operation, sinceMs);
      const stoodSeconds = (world.time.nowMs - sinceMs) / 1_000;
      await reach.authority.settleFence({ actor, operation, stoodSeconds }).catch(() => undefined);
    }
  });

function repairActor({ cache }: Reach): Actor | undefined {
  const lease = cache.record(leaseKey('repair-controller'))?.value as LeaseRecord | undefined;
  return lease === undefined
    ? undefined
    : {
        ...{ kind: 'repair-controller', name: 'rival' },
        lease: { name: 'repair-controller', epoch: lease.epoch },
      };
}
