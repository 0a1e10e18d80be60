import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Replica } from '../model/kinds/replica.js';
import { identityOf, type Played, shortLease, within, WorkedCell } from './worked.fixture.js';

const capacity = 'capacity: { cpu: "2", memory: 8Gi }';
const on = (pools: string) => ({ placement: { nodeSelector: { pools } } });

describe('000-partial-recovery: what a workload says of how far it has come', () => {
  let cell: WorkedCell;
  let bad: Played;
  beforeAll(async () => {
    cell = await WorkedCell.start('worked-partial');
    const pool = (name: string, count: number, pools: string, more = '') =>
      `    - { name: node-${name}, count: ${count}, ${capacity}, labels: { pools: ${pools} }${more} }\n`;
    await cell.play(
      'good',
      '  profiles:\n' +
        '    late: { readySeconds: [3000, 3000] }\n' +
        '    pulling: { startSeconds: [3000, 3000] }\n' +
        '  pools:\n' +
        pool('one', 1, 'half') +
        pool('late', 1, 'half', ', profile: late') +
        pool('pulling', 2, 'slow', ', profile: pulling') +
        pool('good', 1, 'bad') +
        pool('spare', 1, 'bad'),
    );
    bad = await cell.play('bad', `  pools:\n${pool('bad', 1, 'bad', `, ${shortLease}`)}`);
    await cell.untilFresh(['node-spare-1', 'node-bad-1']);
    await cell.ok('cordon node-spare-1');
  });
  afterAll(() => cell.close());

  /** How far it has come, without what differs from run to run. */
  const progress = async (name: string) => {
    const { status } = await cell.workload(name);
    const { stages, limitedBy, reason, nextMove } = status?.progress ?? {};
    return { stages, limitedBy, reason, nextMove };
  };

  it('[L6] two of four ready: readiness limits it, and it is the move of the node that has the other two', async () => {
    await cell.service('half', 4, on('half'));
    await expect
      .poll(() => progress('half'), within)
      .toMatchObject({
        stages: { Serving: 2, Starting: 2 },
        ...{ limitedBy: 'Readiness', nextMove: 'agent:node-late-1' },
      });
  }, 120_000);

  it('[L6] four bound and starting: the nodes limit it, and there is a time until which they are waited for', async () => {
    await cell.service('slow', 4, on('slow'));
    await expect
      .poll(() => progress('slow'), within)
      .toMatchObject({ stages: { Starting: 4 }, limitedBy: 'NodeStart' });
    const { status } = await cell.workload('slow');
    expect(status?.progress?.deadline).toBeDefined();
    expect(status?.replicas).toBe(4);
  }, 120_000);

  it('[S12] two on a node gone silent: nobody knows of them; repair replaces those two and touches no other', async () => {
    await cell.service('risk-api', 4, { ...on('bad'), onNodeLost: { action: 'Replace', afterSeconds: 30 } });
    const before = await cell.untilServing('risk-api', 4);
    const isOnBad = ({ status }: Replica): boolean => status?.binding?.node === 'node-bad-1';
    const kept = before.filter((replica) => !isOnBad(replica)).map(identityOf);
    expect(kept).toHaveLength(2);
    bad.silence();
    await expect
      .poll(() => progress('risk-api'), within)
      .toMatchObject({
        stages: { Serving: 2, Unknown: 2 },
        ...{ reason: 'LeaseExpired', nextMove: 'repair-controller' },
      });
    // There is no room yet: the replacements wait in the queue and say why.
    await expect
      .poll(() => progress('risk-api'), within)
      .toMatchObject({ stages: { Serving: 2, Unknown: 2, Queued: 2 }, limitedBy: 'Scheduling' });
    await cell.ok('uncordon node-spare-1');
    await expect
      .poll(() => progress('risk-api'), within)
      .toMatchObject({ stages: { Serving: 4, Unknown: 2 } });
    const during = await cell.replicas('risk-api');
    expect(during.map(identityOf)).toEqual(expect.arrayContaining(kept));
    expect((await cell.workload('risk-api')).spec.replicas).toBe(4);
    // Back late: what was given away is stopped, and four are left.
    bad.wake();
    const after = (await cell.untilServing('risk-api', 4)).map(identityOf);
    expect(after).toEqual(expect.arrayContaining(kept));
    expect(after.filter((name) => name.includes('node-bad-1'))).toEqual([]);
    await cell.auditOrThrow();
  }, 300_000);
});
