import { setTimeout as sleep } from 'node:timers/promises';
import { type Figure, middle } from './measure.js';
import { cpuSecondsOf, rssMiBOf } from './process-figures.js';
import { startBare, startUp } from './up-process.js';

const starts = 5;
const settleMs = 10_000;
// Long enough for each loop of a server to come round.
const idleMs = 60_000;

/** How soon `berth up` is ready on a directory that has objects, and what it takes when nobody asks for anything. */
export async function measureAtRest(
  print: (figure: Figure) => void,
  dir: string,
  objects: number,
): Promise<void> {
  const readyS: number[] = [];
  const bareReadyS: number[] = [];
  for (let count = 0; count < starts; count++) {
    for (const [start, found] of [
      [() => startBare(dir, 0), bareReadyS],
      [() => startUp(dir), readyS],
    ] as const) {
      const server = await start();
      found.push(server.readyMs / 1000);
      await server.stop();
    }
  }
  const nodeItself = 'Node’s own HTTPS server';
  print({
    name: `berth up ready with ${objects} objects, middle of ${starts} starts`,
    value: middle(readyS),
    unit: 's',
    limit: { value: middle(bareReadyS), what: nodeItself },
    target: { atMost: 2 },
  });

  const servers = [await startUp(dir), await startBare(dir, 0)];
  await sleep(settleMs);
  const before = servers.map(({ pid }) => cpuSecondsOf(pid));
  await sleep(idleMs);
  const [ownPercent = 0, barePercent = 0] = servers.map(
    ({ pid }, index) => ((cpuSecondsOf(pid) - (before[index] ?? 0)) / (idleMs / 1000)) * 100,
  );
  const [ownMiB = 0, bareMiB = 0] = servers.map(({ pid }) => rssMiBOf(pid));
  for (const server of servers) await server.stop();
  print({
    name: 'idle for a minute, CPU',
    value: ownPercent,
    unit: '%',
    limit: { value: barePercent, what: nodeItself },
    target: { atMost: 2 },
  });
  print({
    name: 'idle, resident memory',
    value: ownMiB,
    unit: 'MiB',
    limit: { value: bareMiB, what: nodeItself },
    target: { atMost: 200 },
  });
}
