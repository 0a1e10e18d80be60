import { beforeEach, describe, expect, it } from 'vitest';
import type { Replica } from '../model/kinds/replica.js';
import type { NodeAccount } from '../model/records.js';
import {
  answer,
  done,
  openTestCell,
  refOf,
  type TestCell,
  type WorkloadOptions,
} from './test-cell.fixture.js';

describe('preemption: a hold that awaits what its victims free', () => {
  let cell: TestCell;

  const place = async (
    tenant: string,
    name: string,
    asks: object,
    options: WorkloadOptions = {},
  ): Promise<Replica> => {
    const replica = await cell.incarnate(await cell.workload(tenant, name, asks, options));
    done(await cell.bind(replica, 'n1'));
    return replica;
  };
  const waiting = async (tenant: string, name: string, asks: object, options: WorkloadOptions = {}) =>
    cell.incarnate(await cell.workload(tenant, name, asks, options));
  const preempt = (replica: Replica, ...victims: Replica[]) =>
    cell.reserve(replica, 'n1', { intent: 'Preemption', victims: victims.map(refOf) });
  const used = async () => (await cell.record<NodeAccount>('/a/node/n1')).used;
  const high = { priorityClassName: 'high' };

  beforeEach(async () => {
    cell = await openTestCell();
    await cell.tenant('bank', { guaranteed: { cpu: '4' }, limit: { cpu: '100' } });
    await cell.tenant('shop');
    await cell.node('n1', { devices: { gpu: ['GPU-1', 'GPU-2'] } });
  });

  it('moves what each victim frees to the hold, in the transaction that ends it, in the same and in another tenant', async () => {
    const a = await place('shop', 'a', { cpu: '3' });
    const b = await place('bank', 'b', { memory: '1Gi', cpu: '3' });
    const big = await waiting('shop', 'big', { cpu: '7' }, high);
    const hold = done(await preempt(big, a, b));
    expect(await cell.hold('shop', hold)).toMatchObject({
      now: { cpu: '2' },
      awaits: [
        { replica: 'a-0-1', amounts: { cpu: '3' } },
        { replica: 'b-0-1', amounts: { cpu: '2' } },
      ],
    });
    expect(await used()).toMatchObject({ cpuMilli: 8000 });
    for (const victim of [a, b])
      expect(await cell.status(victim)).toMatchObject({
        stage: 'Releasing',
        intent: { actor: 'preemption:test', reason: 'Preempted' },
        awaitedBy: `shop/${hold.reservation}`,
      });
    expect(answer(await cell.bind(big, 'n1'))).toBe(
      `NodeFull: hold ${hold.reservation} still waits for a-0-1, b-0-1`,
    );
    const thief = await waiting('shop', 'thief', { cpu: '1' });
    done(await cell.report(a, 'Released'));
    expect(await used()).toMatchObject({ cpuMilli: 8000 });
    expect(answer(await cell.bind(thief, 'n1'))).toMatch(/^NodeFull/);
    done(await cell.report(b, 'Released'));
    expect(await used()).toMatchObject({ cpuMilli: 7000 });
    done(await cell.bind(big, 'n1'));
    done(await cell.bind(thief, 'n1'));
  });

  it('[S1] gives it the very devices that a victim had', async () => {
    const a = await place('shop', 'a', { devices: { gpu: 2 } });
    const big = await waiting('shop', 'big', { devices: { gpu: 1 } }, high);
    const hold = done(await preempt(big, a));
    done(await cell.report(a, 'Released'));
    expect(await cell.record('/a/node/n1')).toMatchObject({ claims: { devices: { 'GPU-1': hold.uid } } });
    done(await cell.bind(big, 'n1'));
    expect((await cell.status(big)).charge?.devices).toEqual({ gpu: ['GPU-1'] });
    done(await cell.bind(await waiting('shop', 'c', { devices: { gpu: 1 } }), 'n1'));
  });

  it('[S1] gives it the very port that a victim had, when that ends and not before', async () => {
    const a = await place('shop', 'a', { cpu: '1', ports: ['web:8080', 'admin:9090'] });
    const big = await waiting('shop', 'big', { cpu: '1', ports: ['http:8080', 'any'] }, high);
    expect(answer(await preempt(big))).toMatch(/^PortTaken: port 8080/);
    const hold = done(await preempt(big, a));
    const claims = async () => (await cell.record<NodeAccount>('/a/node/n1')).claims.ports;
    expect(await cell.hold('shop', hold)).toMatchObject({
      charge: { ports: { any: 20_000 } },
      awaits: [{ replica: 'a-0-1', ports: { http: 8080 } }],
    });
    expect(await claims()).toMatchObject({ 8080: a.metadata.uid, 20000: hold.uid });
    done(await cell.report(a, 'Released'));
    expect(await claims()).toEqual({ 8080: hold.uid, 20000: hold.uid });
    done(await cell.bind(big, 'n1'));
    expect(await claims()).toEqual({ 8080: big.metadata.uid, 20000: big.metadata.uid });
    expect((await cell.status(big)).ports).toEqual({ http: 8080, any: 20_000 });
  });

  it('[S2] on a node that offers less than is used, victims make up for that first, and use never falls early', async () => {
    const a = await place('shop', 'a', { cpu: '4' });
    const b = await place('shop', 'b', { cpu: '3' });
    await cell.node('n1', { allocatable: { cpu: '4' } });
    const big = await waiting('shop', 'big', { cpu: '2' }, high);
    expect(answer(await preempt(big, b))).toBe(
      'NodeFull: node n1 has not enough left for big-0-1, also when b-0-1 end',
    );
    const hold = done(await preempt(big, a, b));
    expect(await used()).toMatchObject({ cpuMilli: 7000 });
    expect(await cell.hold('shop', hold)).toMatchObject({ now: { cpu: '0' } });
    done(await cell.report(a, 'Released'));
    done(await cell.report(b, 'Released'));
    expect(await used()).toMatchObject({ cpuMilli: 2000 });
    done(await cell.bind(big, 'n1'));
  });

  it('leaves alone who would free nothing that is missing', async () => {
    const a = await place('shop', 'a', { cpu: '4' });
    const b = await place('shop', 'b', { memory: '1Gi' });
    const big = await waiting('shop', 'big', { cpu: '5' }, high);
    const hold = done(await preempt(big, b, a, a));
    expect((await cell.status(b)).stage).toBe('Bound');
    expect((await cell.hold('shop', hold)).awaits).toHaveLength(1);
    done(await cell.report(a, 'Released'));
    done(await cell.bind(big, 'n1'));
  });

  it('RankTooLow: not above every victim; Guaranteed before Borrowed, then priority', async () => {
    const equal = await place('shop', 'equal', { cpu: '6' });
    const low = await waiting('shop', 'low', { cpu: '4' });
    expect(answer(await preempt(low, equal))).toBe(
      'RankTooLow: Borrowed at 0 does not rank above equal-0-1: Borrowed at 0',
    );
    const humble = await waiting('shop', 'humble', { cpu: '4' }, { priorityClassName: 'humble' });
    expect(answer(await preempt(humble, equal))).toBe('RankTooLow: class humble does not preempt');
    done(await cell.evict(equal));
    done(await cell.report(equal, 'Released'));
    const guaranteed = await place('bank', 'own', { cpu: '4' });
    expect((await cell.status(guaranteed)).charge?.rank).toBe('Guaranteed');
    await place('shop', 'fill', { cpu: '4' });
    const better = await waiting('shop', 'better', { cpu: '4' }, high);
    expect(answer(await preempt(better, guaranteed))).toBe(
      'RankTooLow: Borrowed at 10 does not rank above own-0-1: Guaranteed at 0',
    );
  });

  it('a guarantee is reclaimed whatever limit the borrower has; by priority the limit holds', async () => {
    const strict = { disruption: { maxUnavailable: 0 } };
    const a = await place('shop', 'a', { cpu: '8' }, strict);
    const better = await waiting('shop', 'better', { cpu: '4' }, high);
    expect(answer(await preempt(better, a))).toBe(
      'DisruptionLimit: 0 replicas of a are disrupted; at most 0 at once',
    );
    expect((await cell.status(a)).stage).toBe('Bound');
    const own = await waiting('bank', 'own', { cpu: '4' });
    done(await preempt(own, a));
    expect(await cell.record('/t/shop/a/0')).not.toHaveProperty('isDisrupted');
    done(await cell.report(a, 'Released'));
    done(await cell.bind(own, 'n1'));
  });

  it('a hold that is given up before its victims end gets nothing, and they may make room for another', async () => {
    const a = await place('shop', 'a', { cpu: '8' });
    const [first, second] = [
      await waiting('shop', 'first', { cpu: '4' }, high),
      await waiting('shop', 'second', { cpu: '4' }, high),
    ];
    const hold = done(await preempt(first, a));
    expect(answer(await preempt(second, a))).toBe(
      `HoldGone: victim a-0-1 makes room for shop/${hold.reservation} already, not for second-0-1`,
    );
    done(await cell.releaseHold('shop', hold));
    // It goes already: it is awaited from now on, and not moved a second time.
    const moves = (await cell.status(a)).transitions?.length;
    const other = done(await preempt(second, a));
    expect((await cell.status(a)).transitions).toHaveLength(moves ?? 0);
    done(await cell.lose(a));
    done(await cell.report(a, 'Released'));
    expect(await cell.hold('shop', other)).toMatchObject({ awaits: [], now: { cpu: '4' } });
    done(await cell.bind(second, 'n1'));
    done(await cell.bind(first, 'n1'));
  });

  it('ReplicaChanged: a victim that is elsewhere, has ended or never was there', async () => {
    await cell.node('n2');
    const elsewhere = await cell.incarnate(await cell.workload('shop', 'else', { cpu: '1' }));
    done(await cell.bind(elsewhere, 'n2'));
    const queued = await waiting('shop', 'queued', { cpu: '1' });
    const gone = await place('shop', 'gone', { cpu: '1' });
    done(await cell.report(gone, 'Failed'));
    const big = await waiting('shop', 'big', { cpu: '8' }, high);
    await place('shop', 'fill', { cpu: '4' });
    for (const victim of [elsewhere, queued, gone])
      expect(answer(await preempt(big, victim))).toBe(
        `ReplicaChanged: victim shop/${victim.metadata.name} is not on n1 any more`,
      );
  });
});
