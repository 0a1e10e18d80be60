import { describe, expect, it } from 'vitest';
import { SeededRandom } from '../../env/random.js';
import { epochPairs } from '../../model/operations.js';
import type { Outcome, Release, ResignLease } from '../../model/ports.js';
import { leaseKey, type LeaseRecord, nobody } from '../../model/records.js';
import type { Violation } from '../checkers/checker.js';
import { scenarios } from '../scenarios/all.js';
import { CellHistory } from './cell-history.js';
import { StaleOperations } from './stale-operations.js';

const epoch = { cell: 1, number: 5 };
const resign: ResignLease = { name: 'drain', holder: 'd', epoch, reason: 'Stopped' };
const committed: Outcome<unknown> = { kind: 'Committed', result: undefined, revision: '7' };
const refused = (reason: 'StaleEpoch' | 'NotOwner'): Outcome<unknown> => ({
  ...{ kind: 'Rejected', reason, message: '', revision: '7' },
});

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function open(lease: Partial<LeaseRecord> = {}) {
  const violations: Violation[] = [];
  const state = new CellHistory();
  const value = Buffer.from(JSON.stringify({ holder: 'd', epoch, ...lease }));
  state.apply(1, 0, 'test', [{ kind: 'put', key: leaseKey('drain'), value }]);
  const random = new SeededRandom('test');
  return {
    stale: new StaleOperations({ random, state, onViolation: (one) => violations.push(one) }),
    violations,
  };
}

describe('[S8] stale copies of operations', () => {
  it('name what is over, are sent first, and count if the operation itself commits', async () => {
    const { stale, violations } = open();
    const sent: ResignLease[] = [];
    const after = stale.before('resign', resign, (copy) => {
      sent.push(copy);
      return Promise.resolve(refused('StaleEpoch'));
    });
    expect(sent).toHaveLength(1);
    expect(sent[0]).not.toEqual(resign);
    after(committed);
    await settled();
    expect(Object.fromEntries(stale.refused)).toEqual({ 'resign.lease': 1 });
    expect(violations).toEqual([]);
  });

  it('do not count if the operation itself is refused, or the copy for another reason', async () => {
    const { stale } = open();
    stale.before('resign', resign, () => Promise.resolve(refused('StaleEpoch')))(refused('StaleEpoch'));
    stale.before('resign', resign, () => Promise.resolve(refused('NotOwner')))(committed);
    await settled();
    expect(stale.refused.size).toBe(0);
  });

  it('break the rule if they commit', async () => {
    const { stale, violations } = open();
    stale.before('resign', resign, () => Promise.resolve(committed));
    await settled();
    expect(violations).toMatchObject([{ rule: 'S8', revision: 7 }]);
    expect(violations[0]?.message).toMatch(/^resign under .* was committed$/);
  });

  it('are not needed of an actor whose lease was released: its own operation breaks the rule if it commits', () => {
    const { stale, violations } = open({ holder: nobody });
    const release: Release = {
      actor: { kind: 'workload-controller', name: 'd', lease: { name: 'drain', epoch } },
      replica: { tenant: 't', name: 'r', uid: 'u' },
      ...{ proof: { kind: 'NeverBound' }, reason: 'Test', operation: 'x' },
    };
    const send = (): never => {
      throw new Error('no copy is needed');
    };
    stale.before('release', release, send)(refused('StaleEpoch'));
    expect(Object.fromEntries(stale.refused)).toEqual({ 'lease.released': 1 });
    stale.before('release', release, send)(committed);
    expect(violations.map(({ message }) => message)).toEqual([
      'release under the lease drain, which was released, was committed',
    ]);
  });

  it('of every epoch in the table of operations are demanded by a scenario', () => {
    const demanded = new Set(scenarios.flatMap(({ mustRefuse = [] }) => mustRefuse));
    const copied = epochPairs.filter((pair) => !pair.endsWith('.open'));
    expect(copied.filter((pair) => !demanded.has(pair))).toEqual([]);
    expect(demanded).toContain('lease.released');
  });
});
