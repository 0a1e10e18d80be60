import { describe, expect, it } from 'vitest';
import { TestPicture } from './cell.fixture.js';
import { verdictsOn } from './verdicts.js';

const options = { ages: () => undefined };

function opened(): TestPicture {
  const picture = new TestPicture();
  picture.node('n1', { cpuMilli: 500, spec: { taints: [{ key: 'old', effect: 'NoSchedule' }] } });
  picture.node('n2', { cpuMilli: 500 });
  picture.node('n3');
  picture.workload('web', { cpu: '1' });
  return picture;
}

describe('verdicts', () => {
  it('name everything that is wrong with a node, not the first thing only', () => {
    const verdicts = verdictsOn(opened().cell, 'bank/web-r1', 'n1', options);
    expect(verdicts.filter(({ passes }) => !passes)).toEqual([
      {
        filter: 'taints',
        passes: false,
        reason: 'Tainted',
        message: 'node n1 has the taint old=:NoSchedule',
      },
      {
        filter: 'resources',
        passes: false,
        reason: 'NodeFull',
        message: 'node n1 has not enough cpu left: 1 asked for, 500m free',
      },
    ]);
    expect(verdicts).toContainEqual({ filter: 'quota', passes: true });
    expect(verdictsOn(opened().cell, 'bank/web-r1', 'n3', options).every(({ passes }) => passes)).toBe(true);
  });

  it('name whose processes a node runs, if not those of every tenant', () => {
    const picture = opened();
    picture.node('n4', { agent: { drivers: ['process', 'container'], processTenants: ['default'] } });
    picture.node('n5', { agent: { drivers: ['process'], processTenants: ['default', 'bank'] } });
    expect(verdictsOn(picture.cell, 'bank/web-r1', 'n4', options).filter(({ passes }) => !passes)).toEqual([
      {
        filter: 'driver',
        passes: false,
        reason: 'DriverMissing',
        message:
          'node n4 runs processes of tenant default only, because tenants would share a user there; bank may use containers, or its operator passes --allow-shared-user',
      },
    ]);
    expect(verdictsOn(picture.cell, 'bank/web-r1', 'n5', options).every(({ passes }) => passes)).toBe(true);
  });

  it('say that a node is not there, and nothing of a class that is gone', () => {
    expect(verdictsOn(opened().cell, 'bank/web-r1', 'n9', options)).toContainEqual({
      filter: 'node',
      passes: false,
      reason: 'NoNode',
      message: 'there is no node n9',
    });
    expect(verdictsOn(opened().cell, 'bank/web-r9', 'n1', options)).toEqual([]);
  });
});
