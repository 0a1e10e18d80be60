import { describe, expect, it } from 'vitest';
import { objectKey } from '../../model/records.js';
import { openGangCell } from '../gang-cell.fixture.js';
import { gangFacts } from './gang-facts.js';

/** A gang that has to start with so many members, on so many nodes for one each; of a tenant with this limit, if any. */
async function ask(nodes: number, wanted: number, limit?: string) {
  const { core, records, gang } = openGangCell(nodes, { areFull: false });
  if (limit !== undefined) {
    const grant = {
      most: { cpuMilli: Number(limit) * 1_000 },
      epoch: { cell: 1, number: 1 },
      source: 'Whole',
    };
    records.put({
      [objectKey('Tenant', undefined, 'a')]: { metadata: { name: 'a' }, spec: { limit: { cpu: limit } } },
      '/a/tenant/a': { grant, used: {}, borrowed: {}, lost: {} },
    });
  }
  const members = gang('train', wanted).map((member) => {
    const { gang: _, ...alone } = member;
    return alone;
  });
  const question = { members, wanted, nodeOfSlot: () => undefined };
  const facts = await gangFacts({ next: () => Promise.resolve() }, core.cell, question, { ages: () => 0 });
  expect(members.filter((member) => core.cell.isAssumed(member))).toEqual([]);
  return { ...facts, cures: facts?.cures.map(({ words }) => words) };
}

describe('members of a gang, together', () => {
  it('find places', async () => {
    expect(await ask(4, 4)).toMatchObject({
      ...{ isPlaceable: true, together: { places: 4, wanted: 4 }, nodes: 4, fits: { count: 4 }, cures: [] },
    });
  });

  it('[L6] find too few: what is in the way of the next is said, and no change that would start none of them', async () => {
    expect(await ask(2, 4)).toMatchObject({
      ...{ isPlaceable: false, replica: 'train-2', together: { places: 2, wanted: 4 }, fits: { count: 0 } },
      ...{ rejections: [{ reason: 'NodeFull', count: 2 }], cures: [] },
    });
  });

  it('find all but one: changes that let that one run start the gang', async () => {
    const { cures, together } = await ask(2, 3);
    expect(together).toEqual({ places: 2, wanted: 3 });
    expect(cures).toContain('add a node with cpu 1 in local/local');
  });

  it('[L6] find room and no quota: that is said, and the limit that would do', async () => {
    expect(await ask(4, 3, '2')).toMatchObject({
      ...{ isPlaceable: false, together: { places: 2, wanted: 3 }, quota: { reason: 'QuotaExceeded' } },
      cures: [expect.stringContaining('cpu 3')],
    });
    expect(await ask(4, 4, '2')).toMatchObject({ isPlaceable: false, cures: [] });
  });

  it('are counted over more than one turn', async () => {
    expect(await ask(100, 100)).toMatchObject({ isPlaceable: true, together: { places: 100 } });
    expect(await ask(100, 130)).toMatchObject({ isPlaceable: false, together: { places: 100 } });
  });
});
