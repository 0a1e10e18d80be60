import { describe, expect, it } from 'vitest';
import { nodeAccountKey, objectKey, statusKey } from '../model/records.js';
import { CellPreemption } from './cell-preemption.js';
import { TestPicture } from './cell.fixture.js';
import { PreemptionPlanner } from './preemption.js';

/** One node with one replica of a lower class on it. */
function pictureWith(stage: 'Serving' | 'Releasing' | 'Unknown', workload: object = {}) {
  const picture = new TestPicture();
  picture.put('PriorityClass', undefined, 'high', { value: 10 });
  const account = picture.node('n1', { cpuMilli: 4_000 });
  picture.workload('low', { cpu: '4' }, { spec: workload });
  picture.pending('low', 1);
  picture.replicaStatus('low-0-1', {
    stage,
    charge: { tenant: 'bank', node: 'n1', rank: 'Borrowed', amounts: { cpu: '4' }, workload: 'low' },
  });
  const used = { cpuMilli: 4_000, replicas: 1 };
  picture.cell.apply(nodeAccountKey('n1'), { ...account, used });
  const classKey = picture.workload('urgent', { cpu: '4' });
  picture.put('WorkloadRevision', 'bank', 'urgent-r1', {
    workload: 'urgent',
    revision: 1,
    template: { run: { process: { command: ['work'] } }, resources: { cpu: '4' } },
    priorityClassName: 'high',
  });
  const view = new CellPreemption(picture.cell, { seed: 1, ages: () => 0 });
  const plan = (...pending: ReturnType<TestPicture['pending']>) =>
    new PreemptionPlanner(view).plan(classKey, pending.length > 0 ? pending : picture.pending('urgent', 1));
  return { picture, view, plan, account, used };
}

describe('preemption on a picture of a cell', () => {
  it('takes those that run, speaks for those that leave, and leaves alone those nobody knows of', () => {
    expect(pictureWith('Serving').plan().plans).toMatchObject([
      { node: 'n1', victims: [{ name: 'low-0-1' }] },
    ]);
    expect(pictureWith('Releasing').plan().plans).toMatchObject([{ victims: [{ name: 'low-0-1' }] }]);
    expect(pictureWith('Unknown').plan().plans).toEqual([]);
  });

  it('obeys the limit of a workload as its account stands', () => {
    expect(pictureWith('Serving', { disruption: { maxUnavailable: 0 } }).plan().plans).toEqual([]);
  });

  it('asks every filter but those about room, and looks again after each change', () => {
    const { picture, plan } = pictureWith('Serving');
    const unassume = ({ plans }: ReturnType<typeof plan>): number => {
      for (const { replica } of plans) picture.cell.unassume(replica);
      return plans.length;
    };
    expect(unassume(plan())).toBe(1);
    picture.put('Node', undefined, 'n1', { unschedulable: true });
    expect(unassume(plan())).toBe(0);
    picture.put('Node', undefined, 'n1', {});
    expect(unassume(plan())).toBe(1);
    picture.put('PriorityClass', undefined, 'default', { value: 11 });
    expect(unassume(plan())).toBe(0);
  });

  it('looks at very many nodes in stretches, makes no plan meanwhile, and the same one after', () => {
    const { picture, view, plan, account } = pictureWith('Serving');
    const many = 600;
    for (let at = 0; at < many; at++) picture.node(`small-${at}`, { cpuMilli: 1_000 });
    expect([plan().plans, view.isLooking]).toEqual([[], true]);
    let stretches = 1;
    while (!view.look()) stretches += 1;
    expect([stretches, view.isLooking]).toEqual([6, false]);
    const { plans } = plan();
    expect(plans).toMatchObject([{ node: 'n1', victims: [{ name: 'low-0-1' }] }]);
    for (const { replica } of plans) picture.cell.unassume(replica);
    // What few changes ask for is looked at on the way; what very many ask for is not.
    for (let at = 0; at < 50; at++) picture.cell.apply(nodeAccountKey(`small-${at}`), { ...account });
    expect(view.isReady()).toBe(true);
    for (let at = 0; at < many; at++) picture.cell.apply(nodeAccountKey(`small-${at}`), { ...account });
    expect(view.isReady()).toBe(false);
  });

  it('has nothing looked at for a class that may not make room', () => {
    const { picture, view, plan } = pictureWith('Serving');
    for (let at = 0; at < 600; at++) picture.node(`small-${at}`, { cpuMilli: 1_000 });
    picture.put('PriorityClass', undefined, 'high', { value: 10, preemption: 'Never' });
    expect([plan().plans, view.isLooking]).toEqual([[], false]);
  });

  it('a daemon makes room on the node of its slot and on no other', () => {
    const { picture, plan } = pictureWith('Serving');
    picture.put('Workload', 'bank', 'urgent', { type: 'Daemon' });
    const [pending] = picture.pending('urgent', 1);
    if (pending === undefined) throw new Error('nobody waits');
    expect(plan({ ...pending, slot: 'n2' }).plans).toEqual([]);
    expect(plan({ ...pending, slot: 'n1' }).plans).toHaveLength(1);
  });

  it('counts a plan once from when it is made until its hold is there', () => {
    const { picture, plan, account, used } = pictureWith('Serving');
    const [first, second] = picture.pending('urgent', 2);
    if (first === undefined || second === undefined) throw new Error('nobody waits');
    expect(plan(first).plans).toHaveLength(1);
    expect(plan(second)).toMatchObject({ plans: [], comesFree: [], without: [{ name: second.name }] });
    // As the authority writes it: the victim leaves and is awaited, the replica is Scheduled.
    picture.put('Reservation', 'bank', 'hold-1', { node: 'n1' });
    picture.cell.apply(statusKey('Reservation', 'bank', 'hold-1'), {
      status: { state: 'Held', awaits: [{ replica: 'low-0-1', uid: 'uid-low-0-1', amounts: { cpu: '4' } }] },
    });
    picture.replicaStatus(first.name, { stage: 'Scheduled', hold: 'hold-1' });
    picture.replicaStatus('low-0-1', {
      stage: 'Releasing',
      awaitedBy: 'bank/hold-1',
      charge: { tenant: 'bank', node: 'n1', rank: 'Borrowed', amounts: { cpu: '4' }, workload: 'low' },
    });
    expect(plan(second).plans).toEqual([]);
    // The hold is given up: the victim, which leaves already, is there for the next.
    picture.cell.apply(statusKey('Reservation', 'bank', 'hold-1'), { status: { state: 'Released' } });
    expect(plan(second).plans).toMatchObject([{ victims: [{ name: 'low-0-1' }] }]);
    picture.cell.unassume(second);
    picture.cell.apply(objectKey('Replica', 'bank', 'low-0-1'), undefined);
    picture.cell.apply(statusKey('Replica', 'bank', 'low-0-1'), undefined);
    picture.cell.apply(nodeAccountKey('n1'), { ...account, used: { ...used, cpuMilli: 4_001 } });
    expect(plan(second).plans).toEqual([]);
  });
});
