import { beforeEach, describe, expect, it } from 'vitest';
import { realEnv } from '../env/real.js';
import type { TransactOutcome } from '../store/contract.js';
import { MemoryStore } from '../store/memory.js';
import { leaseKey, type LeaseRecord, nodeEpochKey } from '../model/records.js';
import { answer, done, openTestCell, type TestCell, type WorkloadOptions } from './test-cell.fixture.js';

const first = { cell: 1, number: 1 };

describe('leases', () => {
  let cell: TestCell;
  let transactions: [number, TransactOutcome['kind'] | 'Refused'][];

  beforeEach(async () => {
    transactions = [];
    cell = await openTestCell({
      store: new MemoryStore(realEnv()),
      isAudited: false,
      authority: { onTransaction: (members, outcome) => transactions.push([members, outcome]) },
    });
  });

  it('[S8] renewals of many nodes share a transaction; one under a stale epoch is dropped, the rest commit', async () => {
    const nodes = Array.from({ length: 50 }, (_, index) => `n${index}`);
    for (const node of nodes) await cell.node(node);
    await cell.node('n7');
    transactions.length = 0;
    const outcomes = await Promise.all(
      nodes.map((node) => cell.authority.renew({ name: `node-${node}`, holder: node, epoch: first })),
    );
    expect(transactions).toEqual([[50, 'Committed']]);
    expect(outcomes.filter(({ kind }) => kind === 'Committed')).toHaveLength(49);
    expect(answer(outcomes[7])).toBe('StaleEpoch: lease node-n7 is at epoch 1.2 with n7, not at 1.1 with n7');
    expect(await cell.leaseVersion('node-n3')).toBe(done(outcomes[3]).leaseRevision);
    expect(answer(await cell.authority.renew({ name: 'nobody', holder: 'x', epoch: first }))).toBe(
      'StaleEpoch: there is no lease nobody',
    );
  });

  it('of a thousand nodes go in as few transactions as the store allows', async () => {
    const nodes = Array.from({ length: 1_000 }, (_, index) => `n${index}`);
    await Promise.all(nodes.map((node) => cell.node(node)));
    transactions.length = 0;
    await Promise.all(
      nodes.map((node) => cell.authority.renew({ name: `node-${node}`, holder: node, epoch: first })),
    );
    expect(transactions.length).toBeLessThanOrEqual(16);
  });

  it('are taken under the next epoch: free, given up, unchanged for long enough, or by one who is alone', async () => {
    const take = (operation: string, more: object = {}) =>
      cell.authority.takeLease({ name: 'one', holder: operation, durationSeconds: 5, operation, ...more });
    expect(done(await take('a'))).toEqual({ epoch: first });
    expect(await take('a')).toMatchObject({ kind: 'AlreadyCommitted', result: { epoch: first } });
    expect(answer(await take('b'))).toBe('NotOwner: lease one is held by a and was renewed meanwhile');
    const seen = await cell.leaseVersion('one');
    expect(done(await take('b', { unchangedSince: seen }))).toEqual({ epoch: { cell: 1, number: 2 } });
    expect(answer(await take('c', { unchangedSince: seen }))).toMatch(/^NotOwner/);
    expect(
      answer(await cell.authority.resign({ name: 'one', holder: 'a', epoch: first, reason: 'Stopped' })),
    ).toBe('StaleEpoch: lease one is at epoch 1.2 with b, not at 1.1 with a');
    const mine = { name: 'one', holder: 'b', epoch: { cell: 1, number: 2 }, reason: 'Stopped' };
    done(await cell.authority.resign(mine));
    expect(await cell.authority.resign(mine)).toMatchObject({ kind: 'AlreadyCommitted' });
    expect(answer(await cell.authority.renew(mine))).toMatch(/^StaleEpoch: .* with nobody/);
    expect(done(await take('c'))).toEqual({ epoch: { cell: 1, number: 3 } });
    expect(done(await take('d', { unchangedSince: 'Alone' }))).toEqual({ epoch: { cell: 1, number: 4 } });
  });
});

describe('the record of a lease', () => {
  const open = async () => {
    const cell = await openTestCell({ isAudited: false });
    const take = (holder: string, more: object = {}) =>
      cell.authority.takeLease({
        ...{ name: 'one', holder, durationSeconds: 5, operation: `take/${holder}` },
        ...more,
      });
    const record = (name = 'one') => cell.record<LeaseRecord>(leaseKey(name));
    return { cell, take, record };
  };

  it('[S8] says who released it under which epoch and why, also to the next holder', async () => {
    const { cell, take, record } = await open();
    done(await take('a'));
    expect(await record()).not.toHaveProperty('lastTerm');
    const term = { name: 'one', holder: 'a', epoch: first };
    done(await cell.authority.resign({ ...term, reason: 'Stopped' }));
    const released = { holder: 'a', epoch: first, endedBy: 'a', reason: 'Stopped' };
    expect(await record()).toMatchObject({ holder: '', epoch: first, lastTerm: released });
    expect(answer(await cell.authority.resign({ ...term, holder: 'b', reason: 'Stopped' }))).toMatch(
      /^StaleEpoch: .* with nobody, not at 1\.1 with b$/,
    );
    done(await take('b'));
    expect(await record()).toMatchObject({ holder: 'b', epoch: { number: 2 }, lastTerm: released });
    done(await cell.authority.renew({ name: 'one', holder: 'b', epoch: { cell: 1, number: 2 } }));
    expect(await record()).toMatchObject({ renewals: 1, lastTerm: released });
  });

  it('says who passed its last holder over, and with which proof', async () => {
    const { cell, take, record } = await open();
    done(await take('a'));
    done(await take('b', { unchangedSince: await cell.leaseVersion('one') }));
    const passed = { holder: 'a', epoch: first, endedBy: 'b', reason: 'NotRenewed' };
    expect(await record()).toMatchObject({ holder: 'b', lastTerm: passed });
    done(await take('c', { unchangedSince: 'Alone' }));
    expect(await record()).toMatchObject({ lastTerm: { holder: 'b', endedBy: 'c', reason: 'HolderGone' } });
    for (const reason of [undefined, 'RegisteredAgain']) {
      await cell.node('n1');
      expect((await record('node-n1')).lastTerm?.reason).toBe(reason);
    }
  });

  it('[S8] of a node is made by its registration, and taken by nobody', async () => {
    const { cell, take } = await open();
    await cell.node('n1');
    const proof = { name: 'node-n1', unchangedSince: 'Alone' };
    expect(answer(await take('thief', proof))).toBe(
      'NotOwner: the lease node-n1 comes with the registration of its node',
    );
    done(await cell.authority.renew({ name: 'node-n1', holder: 'n1', epoch: first }));
  });

  it('[S8] is not taken again by a copy of the take that arrives after its term', async () => {
    const { cell, take, record } = await open();
    done(await take('a'));
    done(await cell.authority.resign({ name: 'one', holder: 'a', epoch: first, reason: 'Stopped' }));
    expect(await take('a')).toMatchObject({ kind: 'AlreadyCommitted', result: { epoch: first } });
    expect(await record()).toMatchObject({ holder: '', epoch: first });
  });
});

describe('[S5] what ends without the word of its agent', () => {
  let cell: TestCell;

  beforeEach(async () => {
    cell = await openTestCell();
    await cell.tenant('shop');
    await cell.node('n1');
  });

  const lost = async (name: string, options: WorkloadOptions) => {
    const replica = await cell.incarnate(await cell.workload('shop', name, { cpu: '1' }, options));
    done(await cell.bind(replica, 'n1'));
    done(await cell.lose(replica));
    return replica;
  };
  const renew = () => cell.authority.renew({ name: 'node-n1', holder: 'n1', epoch: first });
  const attest = (more: object = {}) =>
    cell.authority.attest({
      actor: cell.actors.operator,
      node: 'n1',
      nodeEpoch: first,
      reason: 'it burned',
      forSeconds: 60,
      operation: cell.operation('attest'),
      ...more,
    });

  it('by a fence: only if it fences itself, its lease stands unchanged, and nothing is acknowledged to it after', async () => {
    const replica = await lost('once', { template: { execution: 'AtMostOne' } });
    const any = await lost('any', {});
    const leaseRevision = await cell.leaseVersion('node-n1');
    expect(answer(await cell.release(any, { kind: 'FenceExpired', leaseRevision, stoodSeconds: 130 }))).toBe(
      'NotOwner: any-0-1 does not stop by itself: only AtMostOne replicas whose workload said Fence when they were bound end with their fence',
    );
    done(await renew());
    expect(
      answer(await cell.release(replica, { kind: 'FenceExpired', leaseRevision, stoodSeconds: 130 })),
    ).toBe('NodeChanged: node n1 has renewed its lease meanwhile');
    const unchanged = {
      kind: 'FenceExpired',
      stoodSeconds: 130,
      leaseRevision: await cell.leaseVersion('node-n1'),
    } as const;
    expect(answer(await cell.release(replica, { ...unchanged, stoodSeconds: 129 }))).toBe(
      'FenceUnsound: the lease of n1 stood for 129 s; the fence window is 130 s',
    );
    done(await cell.release(replica, unchanged));
    // It wakes up too late: an acknowledged renewal would permit it to run on.
    expect(answer(await renew())).toBe(
      'StaleEpoch: epoch 1.1 of node n1 was closed: it has to register again',
    );
    expect(answer(await cell.report(any, 'Starting'))).toMatch(/^StaleEpoch: .* was closed/);
    const next = await cell.incarnate(await cell.workload('shop', 'next'));
    expect(answer(await cell.bind(next, 'n1'))).toMatch(/^NodeChanged: .* was closed/);
    const gate = { actor: cell.actors.detector, node: 'n1', nodeEpoch: first, reason: 'x', operation: 'x' };
    expect(answer(await cell.authority.gate({ ...gate, reachability: 'Fresh' }))).toMatch(/^NodeChanged/);
    done(await cell.authority.gate({ ...gate, reachability: 'Lost' }));
    await cell.node('n1');
    done(await cell.bind(next, 'n1'));
    done(await cell.report(any, 'Starting'));
  });

  it('by attestation: while it stands, for what was there then, and the node starts over', async () => {
    const replica = await lost('any', {});
    expect(answer(await cell.release(replica, { kind: 'Attested' }))).toBe(
      'NotOwner: nobody attests that what ran on n1 has stopped',
    );
    expect(answer(await attest({ nodeEpoch: { cell: 1, number: 9 } }))).toBe(
      'NodeChanged: node n1 has registered again since; look at it before attesting',
    );
    expect(answer(await attest({ node: 'n7' }))).toBe('NodeChanged: node n7 has never registered');
    done(await attest());
    const late = await cell.incarnate(await cell.workload('shop', 'late'));
    expect(answer(await cell.bind(late, 'n1'))).toMatch(/^NodeChanged: .* was closed/);
    done(await attest({ isOver: true, actor: cell.actors['repair-controller'] }));
    expect(answer(await cell.release(replica, { kind: 'Attested' }))).toMatch(/^NotOwner: nobody attests/);
    done(await attest());
    done(await cell.release(replica, { kind: 'Attested' }));
    await cell.node('n1');
    done(await cell.bind(late, 'n1'));
    done(await cell.lose(late));
    expect(answer(await cell.release(late, { kind: 'Attested' }))).toMatch(/^NotOwner: nobody attests/);
  });

  it('[S10] by an attestation whose own time is over, not by the end of the one before it', async () => {
    const replica = await lost('any', {});
    const expiry = { isOver: true, actor: cell.actors['repair-controller'], given: 'attest/first' };
    done(await attest({ operation: 'attest/first' }));
    done(await attest({ operation: 'attest/second' }));
    expect(await attest(expiry)).toMatchObject({ kind: 'AlreadyCommitted' });
    expect(await cell.record(nodeEpochKey('n1'))).toMatchObject({
      attestation: { operation: 'attest/second' },
    });
    done(await cell.release(replica, { kind: 'Attested' }));
    done(await attest({ ...expiry, given: 'attest/second' }));
    expect(await cell.record(nodeEpochKey('n1'))).not.toHaveProperty('attestation');
  });

  it('not by a copy of an attestation that arrives after it was withdrawn', async () => {
    const replica = await lost('any', {});
    done(await attest({ operation: 'attest/first' }));
    done(await attest({ isOver: true, operation: 'withdraw/first' }));
    expect(await attest({ operation: 'attest/first' })).toMatchObject({ kind: 'AlreadyCommitted' });
    expect(answer(await cell.release(replica, { kind: 'Attested' }))).toMatch(/^NotOwner: nobody attests/);
    done(await attest({ operation: 'attest/second' }));
    done(await cell.release(replica, { kind: 'Attested' }));
  });

  it('never because nobody bound it, once it was bound', async () => {
    const replica = await lost('any', {});
    expect(answer(await cell.release(replica, { kind: 'NeverBound' }))).toBe(
      'NotOwner: any-0-1 was bound to n1: that nothing ran there is for its agent to say',
    );
  });
});
