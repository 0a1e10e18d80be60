import { describe, expect, it } from 'vitest';
import { realEnv } from '../env/real.js';
import { BerthError } from '../model/errors.js';
import type { Replica } from '../model/kinds/replica.js';
import type { NodeAccount } from '../model/records.js';
import type { TransactOutcome } from '../store/contract.js';
import { Codec } from '../objects/codec.js';
import { MemoryStore } from '../store/memory.js';
import { audit } from './audit.fixture.js';
import { Committer } from './committer.js';
import { commit } from './decision.js';
import { openAuthority } from './open-authority.fixture.js';
import { ScriptedStore } from './scripted-store.fixture.js';
import { type CellOptions, answer, done, openTestCell, refOf, type TestCell } from './test-cell.fixture.js';

/** A cell with replicas of 1 core that wait, and a node of 8 cores, over a store that a test can script. */
async function open(count = 3, authority: CellOptions['authority'] = {}) {
  const store = new ScriptedStore(new MemoryStore(realEnv()));
  const transactions: { members: number; outcome: TransactOutcome['kind'] | 'Refused' }[] = [];
  const cell = await openTestCell({
    store,
    isAudited: false,
    authority: { ...authority, onTransaction: (members, outcome) => transactions.push({ members, outcome }) },
  });
  await cell.tenant('shop');
  await cell.node('n1');
  await cell.node('n2');
  const web = await cell.workload('shop', 'web', { cpu: '1' });
  const replicas: Replica[] = [];
  for (let slot = 0; slot < count; slot++) replicas.push(await cell.incarnate(web, String(slot)));
  transactions.length = 0;
  store.underWayMost = 0;
  const at = (index: number): Replica => replicas[index] as Replica;
  const bindAll = (node = 'n1') => cell.authority.bind(replicas.map((one) => cell.proposal(one, node)));
  return { cell, store, web, replicas, at, bindAll, transactions };
}

const used = async (cell: TestCell, node = 'n1') =>
  (await cell.record<NodeAccount>(`/a/node/${node}`)).used.cpuMilli ?? 0;

/** Writes what stands there already: its revision moves, and whoever relied on it has to look again. */
async function touch(store: ScriptedStore, key: string): Promise<void> {
  const [entry] = (await store.read({ from: key, to: `${key}\0` })).entries;
  if (entry === undefined) throw new Error(`nothing under ${key}`);
  await store.inner.transact({ guards: [], writes: [{ kind: 'put', key, value: entry.value }] });
}

describe('operations that wait together share a transaction', () => {
  it('and stand or fall alone', async () => {
    const { cell, replicas, transactions } = await open(10);
    const outcomes = await cell.authority.bind([
      ...replicas.map((one) => cell.proposal(one, 'n1')),
      cell.proposal(replicas[0] as Replica, 'n7'),
    ]);
    expect(outcomes.map((one) => answer(one).split(':')[0])).toEqual([
      ...Array<string>(8).fill('Committed'),
      'NodeFull',
      'NodeFull',
      'AlreadyBound',
    ]);
    expect(transactions).toEqual([{ members: 11, outcome: 'Committed' }]);
    expect(await audit(cell.store)).toEqual([]);
  });

  it('in one that is too large for the store each goes alone; what is too large alone is refused by name', async () => {
    const { cell, store, bindAll } = await open(5);
    store.script = (transaction, send) => {
      if (transaction.writes.length > 4) throw new BerthError('InvalidTransaction', 'too large');
      return send();
    };
    expect((await bindAll()).map(({ kind }) => kind)).toEqual(Array(5).fill('Committed'));
    expect(await audit(store)).toEqual([]);
    store.script = undefined;
    const alone = new Committer({ ...cell, codec: new Codec() }).submit((draft) => {
      for (let index = 0; index < 129; index++) draft.read(`/o/Node/_/n${index}`);
      return commit(undefined);
    });
    await expect(alone).rejects.toThrow('relies on 129 keys and writes 0; at most 128 and 128');
    expect(await audit(store)).toEqual([]);
  });

  it('past a bound new ones are told at once to back off', async () => {
    const { cell, replicas } = await open(3, { queueMax: 2 });
    const outcomes = await cell.authority.bind(replicas.map((one) => cell.proposal(one, 'n1')));
    expect(outcomes.map(answer)).toEqual(['Committed', 'Committed', 'Contended: 2 operations wait']);
  });
});

describe('changes by others', () => {
  it('are retried inside, with what is there now', async () => {
    const { cell, store, bindAll, transactions } = await open();
    let disturbed = 0;
    store.script = async (_, send) => {
      if ((disturbed += 1) <= 5) await touch(store, '/a/tenant/shop');
      return send();
    };
    expect((await bindAll()).map(({ kind }) => kind)).toEqual(Array(3).fill('Committed'));
    expect(transactions.map(({ outcome }) => outcome)).toEqual([
      ...Array<string>(5).fill('GuardFailed'),
      'Committed',
    ]);
    expect(await used(cell)).toBe(3000);
  });

  it('that never end make it Contended after a bounded number of tries; who does not rely on them goes through', async () => {
    const { cell, store, at, transactions } = await open(2);
    store.script = async (transaction, send) => {
      if (transaction.guards.some(({ key }) => key === '/a/node/n1')) await touch(store, '/a/node/n1');
      return send();
    };
    const outcomes = await cell.authority.bind([cell.proposal(at(0), 'n1'), cell.proposal(at(1), 'n2')]);
    expect(outcomes.map(answer)).toEqual(['Contended: voided 16 times by changes of others', 'Committed']);
    expect(transactions.length).toBeLessThan(24);
    store.script = undefined;
    done(await cell.bind(at(0), 'n1'));
    expect(await audit(store)).toEqual([]);
  });

  it('that the cache does not show yet turn neither a rejection nor a commit into a lie', async () => {
    const { cell, store, replicas, web } = await open(9);
    const eight = replicas.slice(0, 8);
    for (const one of eight) done(await cell.bind(one, 'n1'));
    const [last] = replicas.slice(8) as [Replica];
    // Another server, which sees what this one does not see yet.
    const other = await openAuthority(store.inner, realEnv());
    await cell.cache.notOlderThan((await store.read({ from: '/', to: '0' }, { limit: 1 })).revision);
    store.holdBack();
    const { binding } = await cell.status(eight[0] as Replica);
    const ended = await other.authority.report({
      node: 'n1',
      nodeEpoch: { cell: 1, number: 1 },
      replica: refOf(eight[0] as Replica),
      fence: binding?.fence ?? '',
      stage: 'Failed',
      reason: 'Test',
      operation: 'ended',
    });
    expect(ended.kind).toBe('Committed');
    // Full, says the cache; the store says otherwise.
    expect(answer(await cell.bind(last, 'n1'))).toBe('Committed');
    const [more, none] = [await cell.incarnate(web, '10'), await cell.incarnate(web, '11')];
    const stolen = await other.authority.bind([cell.proposal(more, 'n2', { operation: 'theirs' })]);
    expect(stolen.map(answer)).toEqual(['Committed']);
    // Still there to be bound, says the cache.
    expect(answer(await cell.bind(more, 'n2'))).toBe('AlreadyBound: replica shop/web-10-1 was bound to n2');
    expect(answer(await cell.bind(none, 'n1'))).toMatch(/^NodeFull/);
    store.deliver();
    await other.cache.close();
    expect(await audit(store)).toEqual([]);
  });
});

describe('what the store does not say', () => {
  const unknown: TransactOutcome = { kind: 'UnknownOutcome', cause: new Error('no answer') };

  it('is passed on, and the same operation sent again is committed once, whether it had landed or not', async () => {
    for (const hasLanded of [true, false]) {
      const { cell, store, at } = await open(1);
      store.script = async (_, send) => {
        if (hasLanded) await send();
        return unknown;
      };
      const proposal = cell.proposal(at(0), 'n1');
      expect(await cell.authority.bind([proposal])).toEqual([
        { kind: 'UnknownOutcome', message: 'the store did not answer: no answer' },
      ]);
      store.script = undefined;
      expect(answer((await cell.authority.bind([proposal]))[0])).toBe(
        hasLanded ? 'AlreadyCommitted' : 'Committed',
      );
      expect(await used(cell)).toBe(1000);
      expect(await audit(store)).toEqual([]);
    }
  });

  it('and lands only after it was sent again: it does not count twice', async () => {
    const { cell, store, at } = await open(1);
    let late: (() => Promise<TransactOutcome>) | undefined;
    store.script = (_, send) => {
      late = send;
      return Promise.resolve(unknown);
    };
    const proposal = cell.proposal(at(0), 'n1');
    await cell.authority.bind([proposal]);
    store.script = undefined;
    done((await cell.authority.bind([proposal]))[0]);
    expect(await late?.()).toMatchObject({ kind: 'GuardFailed' });
    expect(await used(cell)).toBe(1000);
  });

  it('or refuses for certain reaches the caller, and nothing is left under way', async () => {
    const { cell, store, at, bindAll } = await open(2);
    const refusal = new BerthError('StoreUnavailable', 'not now');
    store.script = () => Promise.reject(refusal);
    await expect(bindAll()).rejects.toBe(refusal);
    await expect(cell.evict(at(0))).rejects.toBe(refusal);
    store.script = undefined;
    expect((await bindAll()).map(({ kind }) => kind)).toEqual(['Committed', 'Committed']);
    expect(store.underWay).toBe(0);
    expect(await audit(store)).toEqual([]);
  });

  it('of a part of what was sent together does not hide the answers of the rest', async () => {
    const { store, bindAll, replicas } = await open(150);
    let count = 0;
    store.script = (_, send) =>
      (count += 1) === 2 ? Promise.reject(new BerthError('StoreUnavailable', 'not now')) : send();
    const outcomes = await bindAll('n1');
    expect(outcomes).toHaveLength(replicas.length);
    const refused = outcomes.filter(({ kind }) => kind === 'UnknownOutcome');
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.length).toBeLessThan(150);
    expect(refused[0]).toEqual({ kind: 'UnknownOutcome', message: 'send it again: not now' });
    expect(await audit(store)).toEqual([]);
  });
});

describe('transactions under way', () => {
  const slow = (store: ScriptedStore): void => {
    store.script = async (_, send) => {
      const sent = send();
      await realEnv().sleep(5);
      return sent;
    };
  };

  it.each([true, false])('mayChain %s: all that fits is bound and nothing more', async (mayChain) => {
    const { cell, store, replicas, transactions } = await open(200, { mayChain });
    slow(store);
    const outcomes = await Promise.all(
      replicas.map((one, index) => cell.bind(one, index % 2 === 0 ? 'n1' : 'n2')),
    );
    expect(outcomes.filter(({ kind }) => kind === 'Committed')).toHaveLength(16);
    expect(await used(cell)).toBe(8000);
    expect(await used(cell, 'n2')).toBe(8000);
    // What they all change is one account: without chains one transaction waits for the other.
    expect(store.underWayMost > 1).toBe(mayChain);
    expect(transactions.every(({ outcome }) => outcome === 'Committed')).toBe(true);
    expect(await audit(store)).toEqual([]);
  });

  it('a chain whose first link fails is decided again from what is there', async () => {
    const { cell, store, replicas } = await open(60);
    let count = 0;
    store.script = async (_, send) => {
      if ((count += 1) === 1) await touch(store, '/a/tenant/shop');
      const sent = send();
      await realEnv().sleep(2);
      return sent;
    };
    const outcomes = await Promise.all(replicas.map((one) => cell.bind(one, 'n1')));
    expect(outcomes.filter(({ kind }) => kind === 'Committed')).toHaveLength(8);
    expect(outcomes.filter((one) => answer(one).startsWith('NodeFull'))).toHaveLength(52);
    expect(await audit(store)).toEqual([]);
  });

  it('what depends on a revision that is not known yet waits for it', async () => {
    const { cell, store } = await open(1);
    slow(store);
    const epoch = { cell: 1, number: 1 };
    const seen = await cell.leaseVersion('drain');
    const renewed = cell.authority.renew({ name: 'drain', holder: 'test', epoch });
    await Promise.resolve();
    const take = {
      name: 'drain',
      holder: 'other',
      durationSeconds: 5,
      operation: 'take',
      unchangedSince: seen,
    };
    expect(answer(await cell.authority.takeLease(take))).toBe(
      'NotOwner: lease drain is held by test and was renewed meanwhile',
    );
    expect(done(await renewed).leaseRevision).toBe(await cell.leaseVersion('drain'));
  });
});

describe('tenants', () => {
  /** Two tenants whose proposals come mixed, each more than one transaction takes. */
  async function twoTenants(mayChain: boolean) {
    const { cell, store, transactions } = await open(0, { mayChain });
    await cell.tenant('bank');
    const replicas: Replica[] = [];
    const [shop, bank] = [
      await cell.workload('shop', 'tiny', { cpu: '1m' }),
      await cell.workload('bank', 'tiny', { cpu: '1m' }),
    ];
    for (let slot = 0; slot < 140; slot++)
      replicas.push(await cell.incarnate(shop, String(slot)), await cell.incarnate(bank, String(slot)));
    const proposals = replicas.map((one, index) =>
      cell.proposal(one, one.metadata.namespace === 'shop' ? 'n1' : 'n2', { operation: `bind ${index}` }),
    );
    transactions.length = 0;
    store.underWayMost = 0;
    return { cell, store, transactions, replicas, proposals };
  }

  it.each([true, false])('mayChain %s: answers come in the order of the proposals', async (mayChain) => {
    const { cell, store, proposals, replicas } = await twoTenants(mayChain);
    const stale = proposals.map((one, index) =>
      index % 7 === 0 ? { ...one, replica: { ...one.replica, uid: 'another' } } : one,
    );
    const outcomes = await cell.authority.bind(stale);
    expect(outcomes.map((one) => answer(one).split(':')[0])).toEqual(
      replicas.map((_, index) => (index % 7 === 0 ? 'ReplicaChanged' : 'Committed')),
    );
    expect(await audit(store)).toEqual([]);
  });

  it('do not wait for each other where a transaction cannot build on another that is under way', async () => {
    const { cell, store, proposals, transactions } = await twoTenants(false);
    const outcomes = await cell.authority.bind(proposals);
    expect(outcomes.every(({ kind }) => kind === 'Committed')).toBe(true);
    expect(store.underWayMost).toBe(2);
    expect(transactions.every(({ outcome }) => outcome === 'Committed')).toBe(true);
    expect(await audit(store)).toEqual([]);
  });
});
