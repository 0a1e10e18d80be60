import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { realEnv } from '../env/real.js';
import type { Region } from '../model/kinds/region.js';
import { judgedTogetherMs } from '../observe/brake-observer.js';
import { identityOf, type Played, shortLease, within, WorkedCell } from './worked.fixture.js';

const capacity = 'capacity: { cpu: "2", memory: 8Gi }';

describe('a whole zone silent for longer than a lease, and back', () => {
  let cell: WorkedCell;
  let zoneA: Played;
  beforeAll(async () => {
    cell = await WorkedCell.start('worked-zone');
    const zone = (name: string, more = '') =>
      '  regions: { eu-west: { zones: [a, b] } }\n' +
      `  pools: [{ name: node-${name}, count: 4, region: eu-west, zones: [${name}], ${capacity}${more} }]\n`;
    zoneA = await cell.play('a', zone('a', `, ${shortLease}`));
    await cell.play('b', zone('b'));
  });
  afterAll(() => cell.close());

  const brake = async () => {
    const { status } = await cell.get<Region>('regions/eu-west');
    return status?.conditions?.find(({ type, status: is }) => type === 'Braked' && is === 'True');
  };
  const addresses = async (): Promise<number> => {
    const { status } = await cell.get<{ status?: { addresses?: readonly unknown[] } }>(
      'namespaces/default/endpoints/risk-api',
    );
    return status?.addresses?.length ?? 0;
  };

  it('[L8] replaces nothing, keeps the endpoints, says so on the region, and goes on with the same replicas', async () => {
    // Spread over both zones, with room in each for all: only the brake keeps it from being replaced.
    await cell.service('risk-api', 8, {
      placement: { regions: ['eu-west'], spread: [{ topology: 'Zone' }] },
      onNodeLost: { action: 'Replace', afterSeconds: 16 },
    });
    const before = (await cell.untilServing('risk-api', 8)).map(identityOf);
    const listed = await addresses();
    zoneA.silence();
    await expect
      .poll(() => cell.stages('risk-api'), within)
      .toEqual([
        ...Array.from({ length: 4 }, () => 'Serving'),
        ...Array.from({ length: 4 }, () => 'Unknown'),
      ]);
    await expect
      .poll(async () => (await brake())?.message, within)
      .toContain('zone eu-west/a are silent: repair there is stopped');
    // Past the time after which one lost node would have been replaced: all were Unknown, so silent for 15 s, before.
    await realEnv().sleep(judgedTogetherMs - 10_000);
    expect((await cell.replicas('risk-api')).map(identityOf)).toEqual(before);
    expect(await addresses()).toBe(listed);
    zoneA.wake();
    const after = (await cell.untilServing('risk-api', 8)).map(identityOf);
    expect(after).toEqual(before);
    await expect.poll(brake, within).toBeUndefined();
    await cell.auditOrThrow();
  }, 240_000);
});
