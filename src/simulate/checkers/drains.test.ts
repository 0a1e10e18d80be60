import { describe, expect, it } from 'vitest';
import type { Node } from '../../model/kinds/node.js';
import { objectKey, statusKey } from '../../model/records.js';
import { Drains } from './drains.js';
import { HonestCell } from './honest-cell.fixture.js';

describe('[S6] a drain', () => {
  it('that says it is complete leaves no charge on its node', () => {
    const checker = new Drains();
    const cell = new HonestCell([checker]).settled();
    const name = cell.incarnate('web');
    cell.run(name, 'n1');
    const say = (state: string, observedGeneration: number) =>
      cell.transact('server-1', (draft) =>
        draft.put(statusKey('Node', undefined, 'n1'), { status: { drain: { state, observedGeneration } } }),
      );
    cell.transact('user', (draft) =>
      draft.change<Node>(objectKey('Node', undefined, 'n1'), (node) => ({
        ...node,
        metadata: { ...node.metadata, generation: 2 },
        spec: { ...node.spec, drain: {} },
      })),
    );
    say('Draining', 2);
    // Of another drain, which was ended since.
    say('Complete', 1);
    expect(cell.violations).toEqual([]);
    say('Complete', 2);
    expect(cell.violations.map(({ rule, message }) => `${rule} ${message}`).join()).toMatch(
      /^S6 node n1 says that it is drained; charged are /,
    );
    expect(cell.whole()).toHaveLength(1);
    cell.move(name, 'Releasing', 'drain');
    cell.move(name, 'Released', 'agent:n1');
    expect(cell.whole()).toEqual([]);
    expect(checker.checked).toBeGreaterThan(2);
  });

  it('is called Stuck after its deadline, counted under one controller', () => {
    const stuck = (seconds: number, newTermAfter = 0): readonly string[] => {
      const cell = new HonestCell([new Drains()]).settled();
      cell.transact('user', (draft) =>
        draft.change<Node>(objectKey('Node', undefined, 'n1'), (node) => ({
          ...node,
          spec: { ...node.spec, drain: { deadlineSeconds: 20 } },
        })),
      );
      cell.nowMs += newTermAfter * 1_000;
      if (newTermAfter > 0)
        cell.transact('server-1', (draft) =>
          draft.change<object>('/l/drain', (lease) => ({ ...lease, epoch: { cell: 1, number: 2 } })),
        );
      cell.nowMs += (seconds - 1) * 1_000;
      cell.transact('server-1', (draft) =>
        draft.put(statusKey('Node', undefined, 'n1'), {
          status: { drain: { state: 'Stuck', observedGeneration: 1 } },
        }),
      );
      return cell.messages;
    };
    expect(stuck(20)).toEqual([]);
    expect(stuck(19)[0]).toMatch(/the drain of n1 was called Stuck after 19000 ms, not 19980/);
    expect(stuck(19, 10)).toHaveLength(1);
    expect(stuck(20, 10)).toEqual([]);
  });
});
