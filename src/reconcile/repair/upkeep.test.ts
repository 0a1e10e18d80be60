import { describe, expect, it } from 'vitest';
import { VirtualTime } from '../../env/virtual.js';
import { FakeObjects, objectOf } from '../../model/fake-objects.fixture.js';
import { fenceContract } from '../../model/fence-contract.js';
import type { Authority, Outcome } from '../../model/ports.js';
import type { StoredFence } from '../../model/records.js';
import { BrakeObserver } from '../../observe/brake-observer.js';
import { FreshnessObserver } from '../../observe/freshness-observer.js';
import type { Acting } from '../runtime/acting.js';
import { NodeUpkeep, overrunShownMs } from './node-upkeep.js';
import { RepairReconciler } from './repair-reconciler.js';
import { settleFence } from './settle-fence.js';

const done: Outcome<undefined> = { kind: 'Committed', result: undefined, revision: '1' };

function open() {
  const time = new VirtualTime({ seed: 1 });
  const { env } = time.machine('server');
  const objects = new FakeObjects();
  const asked: string[] = [];
  const authority: Pick<Authority, 'attest' | 'remark' | 'settleFence' | 'removeNode'> = {
    removeNode: ({ node, uid }) => {
      asked.push(`remove ${node} ${uid}`);
      return Promise.resolve(done);
    },
    attest: ({ node, isOver, given }) => {
      asked.push(`attest ${node} ${isOver === true ? `over ${given}` : ''}`);
      return Promise.resolve(done);
    },
    remark: ({ clear }) => {
      asked.push(`clear ${clear.join()}`);
      return Promise.resolve(done);
    },
    settleFence: ({ operation, stoodSeconds }) => {
      asked.push(`settle ${operation} ${Math.floor(stoodSeconds)}`);
      return Promise.resolve(done);
    },
  };
  const acting: Acting = {
    ...{ objects, env, authority: authority as unknown as Authority },
    ...{ report: () => undefined, giveUp: () => undefined },
    actor: { kind: 'repair-controller', name: 'test' },
  };
  const pass = async (ms: number): Promise<void> => {
    env.after(ms, () => undefined);
    await time.run(time.nowMs + ms);
  };
  return { acting, objects, asked, pass };
}

const attestation = {
  ...{ by: 'ada', reason: 'switched off', at: '2026-01-01T00:00:00Z', forSeconds: 60 },
  operation: 'attest/1',
};
const overrun = {
  ...{ type: 'FenceOverrun', status: 'True', reason: 'RanPastItsFence', message: '' },
  lastTransitionTime: '2026-01-01T00:00:00Z',
};

describe('what is said of a node for a time', () => {
  it('[S10] ends when its time is over, counted from when it was first seen', async () => {
    const { acting, objects, asked, pass } = open();
    const status = { epoch: { cell: 1, number: 1 }, attestation, conditions: [overrun] };
    objects.put(objectOf('Node', undefined, 'n1', { status }));
    const upkeep = new NodeUpkeep(acting);
    const look = () => upkeep.reconcile('n1', new AbortController().signal);
    expect(await look()).toMatchObject({ kind: 'after', ms: 60_000 });
    await pass(60_000);
    expect(await look()).toMatchObject({ kind: 'after', ms: overrunShownMs - 60_000 });
    expect(asked).toEqual(['attest n1 over attest/1']);
    objects.put(objectOf('Node', undefined, 'n1', { status: { ...status, attestation: undefined } }));
    await pass(overrunShownMs);
    expect(await look()).toEqual({ kind: 'done' });
    expect(asked.at(-1)).toBe('clear FenceOverrun');
  });
});

describe('[L7] a node that is being deleted', () => {
  it('is removed when nothing is charged to it, and nobody else has a say', async () => {
    const { acting, objects, asked } = open();
    const look = () => new NodeUpkeep(acting).reconcile('n1', new AbortController().signal);
    const being = (...others: readonly string[]) => ({
      metadata: { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['berth.dev/charges', ...others] },
    });
    const charged = (antiAffinity: object): void =>
      objects.put(objectOf('NodeLedger', undefined, 'n1', { status: { antiAffinity } }));
    objects.put(objectOf('Node', undefined, 'n1', being('example.com/mine')));
    charged({});
    expect(await look()).toMatchObject({ kind: 'after', ms: 2_000 });
    objects.put(objectOf('Node', undefined, 'n1', being()));
    charged({ 'shop/web-r1': 1 });
    expect(await look()).toMatchObject({ kind: 'after', ms: 2_000 });
    expect(asked).toEqual([]);
    charged({});
    expect(await look()).toEqual({ kind: 'done' });
    expect(asked).toEqual(['remove n1 uid-n1']);
  });
});

describe('[S5] a fence window that was lowered', () => {
  it('is settled when the old one was waited for, and a change in between is waited for anew', async () => {
    const { acting, asked, pass } = open();
    const stop = new AbortController();
    let fence: StoredFence = { ...fenceContract, windowSecondsNext: 20, operation: 'set/1' };
    void settleFence(acting, () => fence, stop.signal);
    await pass(100_000);
    fence = { ...fence, windowSecondsNext: 15, operation: 'set/2' };
    await pass(100_000);
    expect(asked).toEqual([]);
    await pass(31_000);
    expect(asked[0]).toMatch(/^settle set\/2 13\d$/);
    stop.abort();
  });
});

describe('that a fence was overrun', () => {
  it('is told on a replica that has ended for a time, like on its node', async () => {
    const { acting, objects, asked, pass } = open();
    const status = { stage: 'Released', binding: { node: 'n1' }, conditions: [overrun] };
    objects.put(objectOf('Replica', 't', 'once-0-1', { spec: { workload: 'once', slot: '0' }, status }));
    const { env } = acting;
    const freshness = new FreshnessObserver({ objects, env });
    const brakes = new BrakeObserver({ objects, freshness, env });
    const repair = new RepairReconciler({
      ...{ acting, freshness, brakes },
      ...{ fence: () => fenceContract, wake: () => undefined },
    });
    const look = () => repair.reconcile('t/once-0-1', new AbortController().signal);
    expect(await look()).toMatchObject({ kind: 'after', ms: overrunShownMs });
    await pass(overrunShownMs);
    expect(await look()).toEqual({ kind: 'done' });
    expect(asked).toEqual(['clear FenceOverrun']);
  });
});
