import { describe, expect, it } from 'vitest';
import { WokenCell } from './woken-cell.fixture.js';

// Well below the minute after which everything that is parked is tried again.
const promptlyMs = 5_000;

/** A cell whose only node is full of a replica that could be asked to leave, and one that waits for room. */
function openFull(priority?: object): WokenCell {
  const cell = new WokenCell();
  if (priority !== undefined) cell.put('PriorityClass', undefined, 'high', priority);
  cell.workload('a', 'web', priority === undefined ? {} : { priority: 'high' });
  cell.workload('b', 'old');
  cell.node('n', 1_000);
  cell.victim('v', 'n', 'old');
  return cell;
}

async function park(cell: WokenCell): Promise<void> {
  cell.records.queue('r1');
  await cell.forMs(5_000);
  expect([cell.reserved, cell.isBound('r1')]).toEqual([[], false]);
}

describe('what is parked is tried again promptly when', () => {
  it('a node gets emptier', async () => {
    const cell = openFull();
    await park(cell);
    cell.account('n', 0);
    expect(await cell.msUntil(() => cell.isBound('r1'))).toBeLessThan(promptlyMs);
  });

  it('[L10] the guarantee of its tenant is raised', async () => {
    const cell = openFull();
    await park(cell);
    cell.tenant('a', { guaranteed: { cpu: '1' } });
    expect(await cell.msUntil(() => cell.reserved.length > 0)).toBeLessThan(promptlyMs);
  });

  it('[L10] its tenant uses less of its guarantee', async () => {
    const cell = openFull();
    cell.tenant('a', { guaranteed: { cpu: '1' } }, { used: { cpuMilli: 1_000 } });
    await park(cell);
    cell.tenant('a', { guaranteed: { cpu: '1' } }, { used: {} });
    expect(await cell.msUntil(() => cell.reserved.length > 0)).toBeLessThan(promptlyMs);
  });

  it('its priority class may preempt now', async () => {
    const cell = openFull({ value: 10, preemption: 'Never' });
    await park(cell);
    cell.put('PriorityClass', undefined, 'high', { value: 10, preemption: 'Allowed' });
    expect(await cell.msUntil(() => cell.reserved.length > 0)).toBeLessThan(promptlyMs);
  });

  it('the workload of a victim is disrupted less', async () => {
    const cell = openFull({ value: 10 });
    const account = { regions: { local: 1 }, zones: { 'local/local': 1 } };
    cell.records.put({ '/a/workload/b/old': { ...account, disrupted: 1 } });
    await park(cell);
    cell.records.put({ '/a/workload/b/old': { ...account, disrupted: 0 } });
    expect(await cell.msUntil(() => cell.reserved.length > 0)).toBeLessThan(promptlyMs);
  });

  it('the workload of a victim may be disrupted more', async () => {
    const cell = openFull({ value: 10 });
    const limited = (maxUnavailable: number) => ({ type: 'Service', disruption: { maxUnavailable } });
    cell.put('Workload', 'b', 'old', limited(0));
    await park(cell);
    cell.put('Workload', 'b', 'old', limited(1));
    expect(await cell.msUntil(() => cell.reserved.length > 0)).toBeLessThan(promptlyMs);
  });

  it('[L10] a replica that ranks lower is bound, whose place was taken before it could be asked to leave', async () => {
    const cell = new WokenCell();
    cell.put('PriorityClass', undefined, 'high', { value: 10 });
    cell.workload('a', 'web', { priority: 'high' });
    cell.workload('b', 'old');
    cell.node('n', 1_000);
    await park(cell);
    cell.victim('v', 'n', 'old');
    expect(await cell.msUntil(() => cell.reserved.length > 0)).toBeLessThan(promptlyMs);
  });

  it('one that was on its way to the place is bound to another node, by another scheduler', async () => {
    const cell = new WokenCell();
    cell.workload('a', 'web');
    cell.workload('a', 'api');
    cell.node('n', 0);
    cell.authority.answer = ({ replica }) => (replica.name === 'r1' ? 'Lose' : 'Commit');
    cell.records.queue('r1', 'api');
    await cell.forMs(100);
    cell.records.queue('r2', 'web');
    await cell.forMs(5_000);
    expect(cell.isBound('r2')).toBe(false);
    const charge = { tenant: 'a', node: 'm', rank: 'Borrowed' as const, amounts: { cpu: '1' } };
    cell.records.stage('r1', { stage: 'Bound', charge });
    expect(await cell.msUntil(() => cell.isBound('r2'))).toBeLessThan(promptlyMs);
  });

  it('somebody leaves a node that it may preempt the rest of', async () => {
    const cell = new WokenCell();
    cell.put('PriorityClass', undefined, 'high', { value: 10 });
    cell.workload('a', 'web', { priority: 'high', cpu: '2' });
    cell.workload('b', 'old');
    cell.node('n', 3_000, { cpuMilli: 3_000 });
    cell.victim('v', 'n', 'old');
    await park(cell);
    cell.account('n', 2_000, {}, 3_000);
    expect(await cell.msUntil(() => cell.reserved.length > 0)).toBeLessThan(promptlyMs);
  });

  it('the neighbour comes without whom it may make no room', async () => {
    const cell = new WokenCell();
    cell.put('PriorityClass', undefined, 'high', { value: 10 });
    const affinity = [{ topology: 'Node', selector: { matchLabels: { app: 'db' } } }];
    cell.workload('a', 'web', { priority: 'high', placement: { affinity } });
    cell.workload('a', 'db', { template: { labels: { app: 'db' } } });
    cell.workload('b', 'old');
    cell.node('n', 1_000);
    cell.victim('v', 'n', 'old');
    await park(cell);
    expect(cell.said('r1')).toBe('NodeFull');
    cell.account('n', 1_000, { 'a/db-1': 1 });
    cell.records.put({ '/a/workload/a/db': { regions: {}, zones: {}, disrupted: 0 } });
    expect(await cell.msUntil(() => cell.reserved.length > 0)).toBeLessThan(promptlyMs);
  });

  it('its workload does not rely on a fence any more', async () => {
    const cell = new WokenCell();
    const relying = (action: string) => ({ type: 'Service', onNodeLost: { action } });
    cell.workload('a', 'web', { template: { execution: 'AtMostOne' }, spec: relying('Fence') });
    cell.node('n', 0, { agent: { fencing: 'Unsupported' } });
    await park(cell);
    expect(cell.said('r1')).toBe('FenceUnsupported');
    cell.put('Workload', 'a', 'web', relying('Wait'));
    expect(await cell.msUntil(() => cell.isBound('r1'))).toBeLessThan(promptlyMs);
  });

  it.each([
    ['has a zone less', { jurisdiction: 'EU', zones: ['a'] }],
    ['is gone', undefined],
  ])('the region that it is spread over %s', async (_, spec) => {
    const cell = new WokenCell();
    cell.put('Region', undefined, 'eu', { jurisdiction: 'EU', zones: ['a', 'b'] });
    cell.workload('a', 'web', { placement: { spread: [{ topology: 'Zone', maxSkew: 1 }] } });
    cell.node('n', 0, { spec: { region: 'eu', zone: 'a' } });
    cell.records.put({ '/a/workload/a/web': { regions: { eu: 1 }, zones: { 'eu/a': 1 }, disrupted: 0 } });
    await park(cell);
    expect(cell.said('r1')).toBe('SpreadViolated');
    if (spec === undefined) cell.records.put({ '/o/Region/_/eu': undefined });
    else cell.put('Region', undefined, 'eu', spec);
    expect(await cell.msUntil(() => cell.isBound('r1'))).toBeLessThan(promptlyMs);
  });

  it('one that was on its way to the place is deleted', async () => {
    const cell = new WokenCell();
    cell.workload('a', 'web');
    cell.workload('a', 'api');
    cell.node('n', 0);
    cell.authority.answer = ({ replica }) => (replica.name === 'r1' ? 'Lose' : 'Commit');
    cell.records.queue('r1', 'web');
    await cell.forMs(100);
    cell.records.queue('r2', 'api');
    await cell.forMs(5_000);
    expect(cell.isBound('r2')).toBe(false);
    cell.records.stage('r1', { stage: 'Released' });
    expect(await cell.msUntil(() => cell.isBound('r2'))).toBeLessThan(promptlyMs);
  });

  it('one that was on its way to the place is refused', async () => {
    const cell = new WokenCell();
    cell.workload('a', 'web');
    cell.workload('a', 'api');
    cell.node('n', 0);
    cell.authority.answer = ({ replica }) =>
      replica.name === 'r1'
        ? { kind: 'Rejected', reason: 'SlotTaken', message: 'the one before has not ended', revision: '1' }
        : 'Commit';
    cell.records.queue('r1', 'web');
    cell.records.queue('r2', 'api');
    expect(await cell.msUntil(() => cell.isBound('r2'))).toBeLessThan(promptlyMs);
  });
});

describe('what is parked for room', () => {
  it('is not tried again when less comes free than it asks for, on a node that never has as much', async () => {
    const cell = new WokenCell();
    for (let at = 0; at < 50; at++) {
      cell.workload('a', `big-${at}`, { cpu: '64' });
      cell.records.queue(`r${at}`, `big-${at}`);
    }
    cell.node('n', 1_000);
    await cell.forMs(10_000);
    const { decisions } = cell.scheduler.counters;
    for (let at = 0; at < 200; at++) {
      cell.account('n', 500 + (at % 2) * 500);
      await cell.forMs(20);
    }
    expect(cell.scheduler.counters.decisions).toBe(decisions);
  });
});

describe('[L6] the reason that a replica tells is the one that it waits for', () => {
  const refused = { kind: 'Rejected', reason: 'GateClosed', message: 'closed', revision: '1' } as const;

  it('when it was refused once and finds no room since', async () => {
    const cell = openFull();
    await park(cell);
    expect(cell.said('r1')).toBe('NodeFull');
    cell.authority.answer = () => refused;
    cell.account('n', 0);
    await cell.forMs(60);
    cell.account('n', 1_000);
    await cell.forMs(15_000);
    expect(cell.said('r1')).toBe('NodeFull');
  });

  it('when it comes back from a backoff to others that are parked', async () => {
    const cell = new WokenCell();
    cell.workload('a', 'web');
    cell.node('n', 0);
    cell.authority.answer = () => refused;
    cell.records.queue('r1');
    await cell.forMs(30);
    cell.account('n', 1_000);
    cell.records.queue('r2');
    await cell.forMs(15_000);
    expect([cell.said('r1'), cell.said('r2')]).toEqual(['NodeFull', 'NodeFull']);
  });
});
