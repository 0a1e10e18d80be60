import { beforeEach, describe, expect, it } from 'vitest';
import { fenceContract } from '../model/fence-contract.js';
import type { FenceRecord, StoredFence } from '../model/records.js';
import { done } from './open-authority.fixture.js';
import { answer, openTestCell, type TestCell } from './test-cell.fixture.js';

let cell: TestCell;
beforeEach(async () => {
  cell = await openTestCell();
  await cell.tenant('shop');
  await cell.node('n1');
});

const short: FenceRecord = {
  ...fenceContract,
  permitSeconds: 4,
  graceSeconds: 2,
  killMarginSeconds: 1,
  stallSecondsMax: 1,
  windowSeconds: 6,
};
const set = (fence: FenceRecord, operation = 'set') =>
  cell.authority.setFence({ actor: cell.actors.operator, fence, operation });
const settle = (stoodSeconds: number, operation = 'set') =>
  cell.authority.settleFence({ actor: cell.actors['repair-controller'], operation, stoodSeconds });
const stored = () => cell.record<StoredFence>('/m/fence');
const permitted = async () => {
  const renewed = await cell.authority.renew({
    ...{ name: 'node-n1', holder: 'n1', epoch: { cell: 1, number: 1 } },
  });
  return done(renewed).fence.permitSeconds;
};

describe('[S5] the fence of a cell', () => {
  it('is refused where an expired fence would be no proof, with what would be one', async () => {
    expect(answer(await set({ ...fenceContract, permitSeconds: 125 }))).toBe(
      'FenceUnsound: a job permitted for 125 s may still run when the window ends: windowSeconds must be at least 130.3, not 130',
    );
    expect(answer(await set({ ...fenceContract, killMarginSeconds: 10 }))).toMatch(
      /killMarginSeconds \(10\) must be above 0 and below graceSeconds \(10\)/,
    );
    expect(answer(await set({ ...fenceContract, graceSeconds: 120 }))).toMatch(/nothing could ever start/);
    const actor = cell.actors.scheduler;
    expect(answer(await cell.authority.setFence({ actor, fence: short, operation: 'x' }))).toMatch(
      /^NotOwner: setFence is for operator, not for scheduler$/,
    );
  });

  it('is raised at once: the next release reckons with it, and the next renewal permits it', async () => {
    expect(await permitted()).toBe(120);
    done(await set({ ...fenceContract, permitSeconds: 200, windowSeconds: 220 }));
    expect(await permitted()).toBe(200);
    const replica = await cell.incarnate(
      await cell.workload('shop', 'once', { cpu: '1' }, { template: { execution: 'AtMostOne' } }),
    );
    done(await cell.bind(replica, 'n1'));
    done(await cell.lose(replica));
    const leaseRevision = await cell.leaseVersion('node-n1');
    const proof = { kind: 'FenceExpired', leaseRevision, stoodSeconds: 200 } as const;
    expect(answer(await cell.release(replica, proof))).toBe(
      'FenceUnsound: the lease of n1 stood for 200 s; the fence window is 220 s',
    );
    done(await cell.release(replica, { ...proof, stoodSeconds: 220 }));
  });

  it('is lowered in two steps: what is permitted at once, the window after it was waited for', async () => {
    done(await set(short));
    expect(await set(short)).toMatchObject({ kind: 'AlreadyCommitted' });
    expect(await permitted()).toBe(4);
    expect(await stored()).toMatchObject({ windowSeconds: 130, windowSecondsNext: 6 });
    expect(answer(await settle(129))).toMatch(/^FenceUnsound: the window is lowered 130 s after/);
    expect(await settle(130, 'another')).toMatchObject({ kind: 'AlreadyCommitted' });
    done(await settle(130));
    expect(await stored()).toEqual({ ...short, operation: 'set' });
  });

  it('counts for a replica as it was bound: a workload that says Fence later proves nothing', async () => {
    const wait = { template: { execution: 'AtMostOne' }, onNodeLost: { action: 'Wait' } };
    const replica = await cell.incarnate(await cell.workload('shop', 'once', { cpu: '1' }, wait));
    done(await cell.bind(replica, 'n1'));
    done(await cell.lose(replica));
    await cell.set('Workload', 'once', { onNodeLost: { action: 'Fence' } }, 'shop');
    const leaseRevision = await cell.leaseVersion('node-n1');
    expect(
      answer(await cell.release(replica, { kind: 'FenceExpired', leaseRevision, stoodSeconds: 130 })),
    ).toMatch(/^NotOwner: once-0-1 does not stop by itself/);
  });

  it('that was overrun is told on the replica and on the node, once, and repair ends it', async () => {
    const replica = await cell.incarnate(
      await cell.workload('shop', 'once', { cpu: '1' }, { template: { execution: 'AtMostOne' } }),
    );
    done(await cell.bind(replica, 'n1'));
    done(await cell.report(replica, 'Failed', { overrunSeconds: 12 }));
    const overrun = async () => [
      (await cell.status(replica)).conditions?.find(({ type }) => type === 'FenceOverrun')?.message,
      (
        await cell.record<{ status: { conditions?: { type: string }[] } }>('/s/Node/_/n1')
      ).status.conditions?.map(({ type }) => type),
    ];
    expect(await overrun()).toEqual([
      'once-0-1 ran 12 s longer on n1 than it was permitted to, and may have run beside its successor',
      ['FenceOverrun'],
    ]);
    const actor = cell.actors['repair-controller'];
    const over = { actor, about: { kind: 'Node', node: 'n1' }, set: [], clear: ['FenceOverrun'] } as const;
    done(await cell.authority.remark(over));
    expect(await cell.authority.remark(over)).toMatchObject({ kind: 'AlreadyCommitted' });
    expect((await overrun())[1]).toEqual([]);
    expect(answer(await cell.authority.remark({ ...over, actor: cell.actors.user }))).toMatch(/^NotOwner/);
  });
});
