import { describe, expect, it } from 'vitest';
import type { Replica } from '../model/kinds/replica.js';
import { liveReplicasOf, replicasOf } from './world/cell-facts.js';
import { noFaults } from './world/fault-plan.js';
import { silence } from './world/silence.js';
import { basics, node, service, startSmallCell } from './world/small-cell.js';
import { World } from './world/world.js';

/** Two nodes, and three replicas that can only be on the first: one for each rule of what is lost. */
function openWorld() {
  const world = new World({ seed: 1, plan: noFaults });
  const first = { placement: { zones: ['a'] } };
  const { servers, user } = startSmallCell(world, {
    nodes: [node('n1', '4'), node('n2', '4', { zone: 'b' })],
    wishes: [
      ...basics('risk'),
      service('risk', 'once', 1, { cpu: '1' }, first, { execution: 'AtMostOne' }),
      service('risk', 'anew', 1, { cpu: '1' }, { ...first, onNodeLost: { afterSeconds: 60 } }),
      service('risk', 'kept', 1, { cpu: '1' }, { ...first, onNodeLost: { action: 'Wait' } }),
    ],
    detects: true,
  });
  for (const member of world.processes) member.start();
  const open = async (workload: string, more: object = {}): Promise<void> => {
    await world.reaches.get(user)?.objects.modify('Workload', 'risk', workload, 'spec', (live) => ({
      ...live,
      spec: { ...live.spec, placement: {}, ...more },
    }));
  };
  return { world, open, silence: (forMs: number) => silence(world, 'agent-n1', servers, forMs) };
}

const story = (replicas: readonly Replica[]): string[] =>
  replicas.map(({ metadata, status }) => {
    const told = (status?.conditions ?? [])
      .filter(({ type, status: is }) => is === 'True' && type !== 'Bound' && type !== 'SchedulingRetrying')
      .map(({ type }) => type);
    return [metadata.name, status?.stage, ...told].join(' ');
  });
const all = (world: World): string[] =>
  ['once', 'anew', 'kept'].flatMap((workload) => story(replicasOf(world, workload)));

describe('a node that falls silent', () => {
  it('[S5] [S12] leaves replicas of unknown fate: one is replaced, one when its fence has expired, one waits for a human', async () => {
    const { world, silence: cut } = openWorld();
    await world.run(30_000);
    expect(all(world)).toEqual(['once-0-1 Serving', 'anew-0-1 Serving', 'kept-0-1 Serving']);
    cut(1_000_000);
    await world.run(64_000);
    expect(all(world).filter((line) => line.includes('Serving'))).toHaveLength(3);
    await world.run(80_000);
    expect(all(world)).toEqual(['once-0-1 Unknown', 'anew-0-1 Unknown', 'kept-0-1 Unknown']);
    await world.run(110_000);
    expect(all(world)).toEqual([
      'once-0-1 Unknown',
      'anew-0-1 Unknown Superseded',
      'anew-0-2 Queued MayRunTwice',
      'kept-0-1 Unknown',
    ]);
    await world.run(175_000);
    const once = replicasOf(world, 'once').map(
      ({ metadata, status }) => `${metadata.name} ${status?.stage} ${status?.transitions?.at(-1)?.reason}`,
    );
    expect(once).toEqual(['once-0-1 Released FenceExpired', 'once-0-2 Queued Replaces']);
    await world.run(400_000);
    expect(story(replicasOf(world, 'kept'))).toEqual(['kept-0-1 Unknown NeedsHuman']);
    expect(world.violations).toEqual([]);
  });

  it('[L5] releases what was promised to run once when its fence has expired, also if its user has come to ask for less', async () => {
    const { world, silence: cut, open } = openWorld();
    await world.run(30_000);
    cut(1_000_000);
    await world.run(90_000);
    const [lost] = replicasOf(world, 'once');
    expect(lost?.status?.stage).toBe('Unknown');
    const template = { run: { process: { command: ['work'] } }, resources: { cpu: '1' } };
    void open('once', { onNodeLost: { action: 'Replace', afterSeconds: 45 }, template });
    await world.run(220_000);
    expect(story(replicasOf(world, 'once'))).toEqual(['once-0-1 Released', 'once-0-2 Serving']);
    expect(world.violations).toEqual([]);
  });

  it('[L3] and is back before anything was given away keeps its work', async () => {
    const { world, silence: cut } = openWorld();
    await world.run(30_000);
    cut(48_000);
    await world.run(200_000);
    expect(all(world)).toEqual(['once-0-1 Serving', 'anew-0-1 Serving', 'kept-0-1 Serving']);
    const wasLost = liveReplicasOf(world, 'kept')[0]?.status?.transitions?.some(({ to }) => to === 'Unknown');
    expect(wasLost).toBe(true);
  });

  it('[S12] and is back late is told to stop what was given away, and keeps the rest', async () => {
    const { world, silence: cut, open } = openWorld();
    await world.run(30_000);
    cut(160_000);
    await world.run(32_000);
    void open('anew');
    await world.run(300_000);
    const anew = replicasOf(world, 'anew').map(({ metadata, status }) => [
      ...[metadata.name, status?.stage, status?.binding?.node],
      status?.intent?.reason,
    ]);
    expect(anew).toEqual([
      ['anew-0-1', 'Released', 'n1', 'Superseded'],
      ['anew-0-2', 'Serving', 'n2', undefined],
    ]);
    expect(story(liveReplicasOf(world, 'kept'))).toEqual(['kept-0-1 Serving']);
    expect(story(liveReplicasOf(world, 'once'))).toEqual(['once-0-2 Serving']);
    expect(world.violations).toEqual([]);
  });
});
