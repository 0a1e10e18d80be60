import { describe, expect, it } from 'vitest';
import type { Driver, DriverEvent } from './driver.js';
import { binding, openSession, openSessionOver } from './session.fixture.js';

describe('a node session', () => {
  it('registers, opens, renews as often as it is asked to, and reports what it starts', async () => {
    const { streams, run } = openSession();
    await run(10);
    expect(streams.opened).toMatchObject([{ node: 'n1', epoch: { cell: 1, number: 1 } }]);
    streams.tellWhole(binding('a'));
    await run(2_000);
    expect(streams.reports).toEqual(['a Starting Started']);
    streams.answer(11);
    await run(10);
    expect(streams.reports.at(-1)).toBe('a Ready ReadyOnNode');
    streams.answer(12);
    await run(58_000);
    const renewals = streams.said.filter(({ kind }) => kind === 'renew');
    expect(renewals.length).toBeGreaterThanOrEqual(11);
    expect(renewals.length).toBeLessThanOrEqual(13);
    expect(streams.reports).toHaveLength(2);
  });

  it('refuses to stop what it never started, and reports it stopped', async () => {
    const { streams, run, driver } = openSession();
    await run(10);
    streams.tellWhole(binding('a', { stage: 'Releasing', intent: { reason: 'Drain' } }));
    await run(10);
    expect(streams.reports).toEqual(['a Released NotRunning']);
    // Also if old news speaks of it as bound.
    streams.tell(binding('a', { version: 9 }));
    await run(5_000);
    expect([...driver.list()]).toEqual([]);
  });

  it('stops what it is told to stop and what is no longer bound to it', async () => {
    const { streams, run, driver } = openSession();
    await run(10);
    streams.tellWhole(binding('a'), binding('b'), binding('c'));
    await run(2_000);
    expect([...driver.list()]).toEqual(['a', 'b', 'c']);
    streams.hear({ kind: 'bindings', bindings: [], gone: ['b'] });
    streams.tell(binding('c', { stage: 'Releasing', intent: { reason: 'Drain' }, version: 20 }));
    await run(1_000);
    expect([...driver.list()]).toEqual(['a']);
    streams.answer(21);
    await run(10);
    expect(streams.reports).toContain('c Starting Started');
    streams.tellWhole();
    await run(1_000);
    expect([...driver.list()]).toEqual([]);
  });

  it('[S5] stops what the whole set leaves out only when all of it has come, in how many parts it comes', async () => {
    const { streams, run, driver } = openSession();
    await run(10);
    const part = { kind: 'bindings', bindings: [], gone: [] } as const;
    // Nothing is started before it is known to be all.
    streams.hear({ ...part, begins: true, bindings: [binding('a')] });
    await run(2_000);
    expect([...driver.list()]).toEqual([]);
    streams.hear({ ...part, bindings: [binding('b'), binding('c')] });
    streams.hear({ ...part, ends: true });
    await run(2_000);
    expect([...driver.list()]).toEqual(['a', 'b', 'c']);
    streams.hear({ ...part, begins: true, bindings: [binding('b', { version: 20 })] });
    await run(2_000);
    expect([...driver.list()]).toEqual(['a', 'b', 'c']);
    // It begins anew; what changes meanwhile counts, and what goes meanwhile.
    streams.hear({ ...part, begins: true, bindings: [binding('a', { version: 20 })] });
    streams.tell(binding('d', { version: 21 }));
    streams.hear({ ...part, gone: ['a'] });
    streams.hear({ ...part, ends: true, bindings: [binding('c', { version: 20 })] });
    await run(2_000);
    expect([...driver.list()]).toEqual(['c', 'd']);
  });

  it('starts what comes without a template as others of its revision', async () => {
    const { streams, run, driver } = openSession();
    await run(10);
    const { template: _, ...bare } = binding('b');
    streams.tellWhole(binding('a'), bare);
    streams.tell({ ...bare, replica: { ...bare.replica, tenant: 'another', uid: 'c' } });
    await run(2_000);
    expect([...driver.list()]).toEqual(['a', 'b']);
  });

  it('says no more than a thousand characters of why something ended', async () => {
    const ears: ((event: DriverEvent) => void)[] = [];
    const started = new Set<string>();
    const { streams, run } = openSessionOver((): Driver => ({
      ...{ canFence: false, adopt: () => 'Gone', list: () => started, permit: () => undefined },
      ...{ stop: () => undefined, forget: () => undefined },
      attach: (onEvent) => void ears.push(onEvent),
      start: ({ replica }) => void started.add(replica.uid),
    }));
    await run(10);
    streams.tellWhole(binding('a'));
    await run(10);
    streams.answer(11);
    ears[0]?.({ kind: 'Exited', uid: 'a', reason: 'CommandNotFound', message: 'é'.repeat(300_000) });
    await run(10);
    const said = streams.said.flatMap((each) => (each.kind === 'report' ? [each.report.message] : []));
    expect(said.at(-1)).toBe(`${'é'.repeat(999)}…`);
  });

  it('sends a report of unknown outcome again under the same id, and one after another change under another', async () => {
    const { streams, run } = openSession();
    await run(10);
    streams.tellWhole(binding('a'));
    await run(2_000);
    streams.answer(0, { kind: 'UnknownOutcome', message: 'the store is away' });
    await run(1_000);
    const operations = streams.said.flatMap((each) =>
      each.kind === 'report' ? [each.report.operation] : [],
    );
    expect(operations).toHaveLength(2);
    expect(operations[1]).toBe(operations[0]);
  });

  it('keeps what happened while it was cut off, and says it when it is heard again', async () => {
    const { streams, run } = openSession();
    await run(10);
    streams.tellWhole(binding('a', { type: 'Batch' }));
    await run(2_000);
    streams.hear({ kind: 'closed', message: 'cut' });
    streams.isAnswering = false;
    await run(20_000);
    expect(streams.reports).toEqual(['a Starting Started']);
    const openings = streams.opened.length;
    expect(openings).toBeGreaterThan(1);
    streams.isAnswering = true;
    await run(30_000);
    streams.tellWhole(binding('a', { type: 'Batch', stage: 'Starting', version: 11 }));
    await run(100);
    expect(streams.reports.at(-1)).toBe('a Succeeded Completed');
    expect(streams.registered, 'a cut stream is no new epoch').toHaveLength(1);
  });

  it('takes a stream on which nothing is acknowledged for cut, and opens another under the same epoch', async () => {
    const { streams, run } = openSession();
    await run(10);
    streams.isAnswering = false;
    await run(40_000);
    expect(streams.opened.length).toBeGreaterThan(1);
    expect(streams.registered).toHaveLength(1);
  });

  it('[S8] registers again when its epoch is over, and goes on with what runs', async () => {
    const { streams, run, driver } = openSession();
    await run(10);
    streams.tellWhole(binding('a'));
    await run(2_000);
    streams.hear({ kind: 'stale', message: 'the epoch is over' });
    await run(2_000);
    expect(streams.opened.at(-1)).toMatchObject({ epoch: { cell: 1, number: 2 } });
    expect(new Set(streams.registered.map(({ operation }) => operation)).size).toBe(2);
    expect([...driver.list()]).toEqual(['a']);
  });

  it('registers under one id until it knows the outcome, with pauses that grow', async () => {
    const { streams, run } = openSession({ kind: 'UnknownOutcome', message: 'no answer' });
    await run(60_000);
    expect(new Set(streams.registered.map(({ operation }) => operation)).size).toBe(1);
    expect(streams.registered.length).toBeGreaterThan(5);
    expect(streams.registered.length).toBeLessThan(25);
  });

  it('[S5] stops fenced work before its permit ends, starts none without one, and leaves the rest alone', async () => {
    const { streams, run, driver } = openSession();
    await run(10);
    streams.tellWhole(binding('once', { isFenced: true }), binding('any'));
    await run(3_000);
    streams.isAnswering = false;
    await run(100_000);
    expect([...driver.list()]).toEqual(['once', 'any']);
    await run(20_000);
    expect([...driver.list()]).toEqual(['any']);
    streams.tell(binding('later', { isFenced: true }));
    await run(3_000);
    expect([...driver.list()]).toEqual(['any']);
    streams.isAnswering = true;
    await run(12_000);
    streams.tellWhole(binding('any', { stage: 'Ready', version: 20 }), binding('later', { isFenced: true }));
    await run(3_000);
    expect([...driver.list()]).toEqual(['any', 'later']);
  });

  it('[L6] says that fenced work has ended although nobody answers: it may be heard and hear nothing', async () => {
    const { streams, run } = openSession();
    await run(10);
    streams.tellWhole(binding('once', { isFenced: true }), binding('any'));
    await run(3_000);
    streams.isAnswering = false;
    await run(100_000);
    const before = streams.reports.length;
    await run(40_000);
    const since = streams.reports.slice(before);
    expect(since.length).toBeGreaterThan(0);
    expect(new Set(since.map((report) => report.split(' ').slice(0, 2).join(' ')))).toEqual(
      new Set(['once Failed']),
    );
    // As one operation, however often it is said.
    const operations = streams.said.flatMap((each) =>
      each.kind === 'report' && each.report.stage === 'Failed' ? [each.report.operation] : [],
    );
    expect(new Set(operations).size).toBe(1);
  });
});
