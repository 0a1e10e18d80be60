import { describe, expect, it } from 'vitest';
import { realEnv } from '../../env/real.js';
import type { Gang } from '../../model/kinds/gang.js';
import type { Replica } from '../../model/kinds/replica.js';
import { objectKey } from '../../model/records.js';
import { openGangCell } from '../gang-cell.fixture.js';
import { explainGang } from './explain-gang.js';
import { PlacementExplainer } from './placement-explainer.js';

/** A gang of this many on so many nodes, each full of one that ranks lower, unless none is. */
async function ask(nodes: number, wanted: number, areFull: boolean) {
  const { records, gang } = openGangCell(nodes, { areFull });
  const members = gang('train', wanted).map(({ name }): Replica => ({
    ...(records.read(objectKey('Replica', 'a', name)) as Replica),
    status: { stage: 'Queued' },
  }));
  const record = records.read(objectKey('Gang', 'a', 'train')) as Gang;
  const explainer = new PlacementExplainer({ records, env: realEnv(), ages: () => 0 });
  const placement = await explainer.factsOfGang(record, members);
  return { placement, ...explainGang({ gang: record, members, placement }) };
}

describe('room that is made for a gang', () => {
  it('[L6] is foreseen: it is on its way, and it is said how many leave', async () => {
    const { placement, state, answer } = await ask(6, 4, true);
    expect(placement).toMatchObject({
      ...{ isPlaceable: false, together: { places: 0, wanted: 4 }, room: { nodes: 4, evictions: 4 } },
    });
    expect(state).toBe('OnItsWay');
    expect(answer).toContain('4 replicas have to leave 4 nodes for its members');
  });

  it('is not, where not enough can be made for all', async () => {
    const { placement, state } = await ask(3, 4, true);
    expect([placement?.room, state]).toEqual([undefined, 'CannotBePlaced']);
  });

  it('is not, where nobody would leave', async () => {
    const { placement, state } = await ask(3, 4, false);
    expect([placement?.room, placement?.together, state]).toEqual([
      undefined,
      { places: 3, wanted: 4 },
      'CannotBePlaced',
    ]);
  });
});
