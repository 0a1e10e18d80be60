import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type NodeAccount,
  nodeAccountKey,
  type TenantAccount,
  tenantAccountKey,
} from '../../model/records.js';
import { CellView } from './cell-view.js';
import { ChargeBook } from './charge-book.js';
import type { CellState, Commit, SafetyChecker, Violation } from './checker.js';
import { HonestCell } from './honest-cell.fixture.js';
import { safetyCheckers } from './safety-checkers.js';

/** What a book says of everything, zero and not named being the same. */
function contents(book: ChargeBook): object {
  const { used, borrowed, lost } = book.ofTenant('shop');
  return {
    nodes: ['n1', 'n2'].map((node) => ({
      used: nonZero(book.onNode(node)),
      revisions: book.revisionsOnNode(node),
      keys: [...book.chargesOnNode(node)].map(({ key }) => key).toSorted(),
    })),
    tenant: [used, borrowed, lost].map(nonZero),
    zones: book.zonesOfWorkload('shop', 'web'),
    regions: book.regionsOfWorkload('shop', 'web'),
  };
}

/** Compares the running sums with sums from scratch after every commit. */
class SumsAgree implements SafetyChecker {
  readonly rule = 'S7';
  checked = 0;
  readonly #book = new ChargeBook();

  onCommit(commit: Commit, state: CellState): readonly Violation[] {
    this.#book.apply(commit, state);
    this.checked += 1;
    const [running, scratch] = [contents(this.#book), contents(ChargeBook.of(state))];
    if (isDeepStrictEqual(running, scratch)) return [];
    const message = `${JSON.stringify(running)} is not ${JSON.stringify(scratch)}`;
    return [{ rule: this.rule, revision: commit.revision, message }];
  }

  whole(): readonly Violation[] {
    return [];
  }
}

const nonZero = (amount: object): object =>
  Object.fromEntries(Object.entries(amount).filter(([, count]) => count !== 0));

const slots = ['0', '1', '2', '3'];
const step = fc.record({
  slot: fc.constantFrom(...slots),
  node: fc.constantFrom('n1', 'n2'),
  rank: fc.constantFrom('Guaranteed' as const, 'Borrowed' as const),
  act: fc.constantFrom('incarnate', 'hold', 'expire', 'bind', 'fail', 'lose', 'replace'),
});

/** Does what a step says if the slot is where that is possible. */
function take(
  cell: HonestCell,
  { slot, node, rank, act }: typeof step extends fc.Arbitrary<infer S> ? S : never,
): void {
  const view = new CellView(cell);
  const record = view.slot('shop', 'web', slot);
  const name = record?.replica ?? '';
  const status = view.object('Replica', 'shop', name)?.status;
  const next = (record?.incarnation ?? 0) + 1;
  const stage = status?.stage;
  const fits =
    (view.tenantAccount('shop')?.used.cpuMilli ?? 0) < 6_000 &&
    (view.nodeAccount(node)?.used.cpuMilli ?? 0) < 4_000;
  if (act === 'incarnate' && (stage === undefined || stage === 'Failed')) cell.incarnate('web', slot, next);
  else if (
    act === 'hold' &&
    stage === 'Queued' &&
    view.object('Reservation', 'shop', `hold-${name}`) === undefined &&
    fits
  )
    cell.hold(name, node, { rank });
  else if (act === 'expire' && stage === 'Scheduled') cell.releaseHold(name);
  else if (act === 'bind' && stage === 'Scheduled')
    cell.bind(name, view.object('Reservation', 'shop', `hold-${name}`)?.spec.node ?? '');
  else if (act === 'bind' && stage === 'Queued' && fits) cell.bind(name, node, { rank });
  else if (act === 'fail' && stage === 'Bound') cell.move(name, 'Failed', `agent:${status?.binding?.node}`);
  else if (act === 'lose' && stage === 'Bound') cell.move(name, 'Unknown', 'repair-controller');
  else if (act === 'replace' && stage === 'Unknown' && record?.lost === undefined)
    cell.replace('web', slot, next);
}

const play = (
  checkers: readonly SafetyChecker[],
  steps: readonly Parameters<typeof take>[1][],
): HonestCell => {
  const cell = new HonestCell(checkers).settled();
  for (const one of steps) take(cell, one);
  return cell;
};

describe('[S7] running sums and sums from scratch', () => {
  it('agree after every commit of any history', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const agree = new SumsAgree();
        expect(play([agree], steps).violations).toEqual([]);
        expect(agree.checked).toBeGreaterThan(0);
      }),
      { numRuns: 40 },
    );
  });

  it('no checker says anything of any honest history, by commit or from scratch', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const cell = play(safetyCheckers().all, steps);
        // A replacement of a replacement does not happen here, so that a slot never loses two.
        expect(cell.violations).toEqual([]);
        expect(cell.whole()).toEqual([]);
      }),
      { numRuns: 40 },
    );
  });

  it('both notice an account that was altered somewhere in any history', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), fc.boolean(), (steps, isNode) => {
        const cell = play(
          safetyCheckers().all.filter(({ rule }) => rule === 'S7'),
          steps,
        );
        cell.transact('server-1', (draft) => {
          if (isNode)
            draft.change<NodeAccount>(nodeAccountKey('n1'), (account) => ({
              ...account,
              used: { ...account.used, cpuMilli: (account.used.cpuMilli ?? 0) - 1 },
            }));
          else
            draft.change<TenantAccount>(tenantAccountKey('shop'), (account) => ({
              ...account,
              lost: { ...account.lost, replicas: (account.lost.replicas ?? 0) + 1 },
            }));
        });
        expect(cell.violations).toHaveLength(1);
        expect(cell.whole()).toEqual(cell.violations);
      }),
      { numRuns: 40 },
    );
  });
});
