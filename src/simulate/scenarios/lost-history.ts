import type { Workload } from '../../model/kinds/workload.js';
import type { WorkloadRevision } from '../../model/kinds/workload-revision.js';
import type { Objects } from '../../model/ports.js';
import { objectKey } from '../../model/records.js';
import { liveReplicasOf, shownReplicas, unlessSo } from '../world/cell-facts.js';
import { basics, node, service, startSmallCell } from '../world/small-cell.js';
import type { Scenario } from '../scenario.js';
import type { World } from '../world/world.js';

const cuts = 4;
const everyMs = 15_000;
const everyMsOfJob = 300;
const job = (cpu: string) => service('shop', 'job', 2, { cpu });

/** A server cannot take in what it missed: it knows only what is there now, and tells every watcher so. */
export const lostHistory: Scenario = {
  name: 'lost-history',
  about:
    'each server is cut off from the store in turn, and what it missed is compacted meanwhile: its watchers list again, its controllers go on',
  chaosMs: 62_000,
  settleMs: 120_000,
  begin: (world) => {
    const { servers, user } = startSmallCell(world, {
      nodes: [node('node-a', '8'), node('node-b', '8', { zone: 'b' })],
      wishes: [...basics('shop'), service('shop', 'web', 6, { cpu: '1' }), job('1')],
      // Replicas fail and are replaced all the time: there is always something that a server misses.
      exits: 0.05,
    });
    let wanted = '1';
    keepJob(
      world,
      () => world.reaches.get(user)?.objects,
      () => wanted,
    );
    for (let turn = 0; turn < cuts; turn++)
      world.wire.after(2_000 + turn * everyMs, () => {
        const [server] = servers.slice(turn % 2);
        if (server !== undefined)
          world.cutFromStore(6_000 + world.time.random.integer(8_000), [server], true);
        wanted = String(2 + (turn % 2));
      });
    return () => {
      const [web, jobs] = [liveReplicasOf(world, 'web'), liveReplicasOf(world, 'job')];
      const asked = jobs.map(({ metadata: { namespace }, spec }) => {
        const stored = world.history.get(objectKey('WorkloadRevision', namespace, spec.revision));
        return (stored as WorkloadRevision | undefined)?.spec.template.resources?.cpu;
      });
      return unlessSo(
        [web.length === 6, `wanted 6 replicas of web; there are ${shownReplicas(web)}`],
        [jobs.length === 2, `wanted 2 replicas of job; there are ${shownReplicas(jobs)}`],
        [asked.every((cpu) => cpu === '3'), `replicas of job ask for ${asked.join(', ')} and not for 3`],
      );
    };
  },
  plan: ({ rates }) => ({ rates, events: [] }),
  mustCheck: ['S5', 'S7', 'S11', 'S12', 'L1', 'L4'],
  mustOccur: ['storeCut', 'historyLost'],
};

/** Sees to it that the job asks for so many CPUs: where it asks for others it is deleted, and made anew under its name. */
function keepJob(world: World, objects: () => Objects | undefined, cpu: () => string): void {
  const step = async (): Promise<void> => {
    const live = objects()?.get<Workload>('Workload', 'shop', 'job');
    if (live === undefined) await objects()?.create('Workload', 'shop', job(cpu()));
    else if (live.spec.template.resources?.cpu !== cpu() && live.metadata.deletionTimestamp === undefined)
      await objects()?.delete('Workload', 'shop', 'job', live.metadata.uid);
  };
  const goOn = (): void =>
    void step()
      .catch(() => undefined)
      .then(() => world.wire.after(everyMsOfJob, goOn));
  world.wire.after(everyMsOfJob, goOn);
}
