import { describe, expect, it } from 'vitest';
import type { ReplicaStatus, ReplicaTransition } from '../../model/kinds/replica.js';
import { objectKey } from '../../model/records.js';
import { HonestCell, replicaKey } from './honest-cell.fixture.js';
import { OwnedWrites } from './owned-writes.js';

const settled = (): HonestCell => new HonestCell([new OwnedWrites()]).settled();

function bound(): HonestCell {
  const cell = settled();
  cell.incarnate('web');
  cell.bind('web-0-1', 'n1');
  return cell;
}
const status = (cell: HonestCell, change: (status: ReplicaStatus) => ReplicaStatus): HonestCell =>
  cell.altering((draft) =>
    draft.change<{ status: ReplicaStatus }>(replicaKey('web-0-1'), (value) => ({
      status: change(value.status),
    })),
  );
const transitions = (
  cell: HonestCell,
  change: (transitions: readonly ReplicaTransition[]) => readonly ReplicaTransition[],
): HonestCell => status(cell, (old) => ({ ...old, transitions: [...change(old.transitions ?? [])] }));

describe('[S6] every transition is an edge made by its owner', () => {
  it('and a long life of such transitions is fine, past the window of what is remembered', () => {
    const cell = bound();
    cell.move('web-0-1', 'Starting', 'agent:n1');
    cell.move('web-0-1', 'Ready', 'agent:n1');
    for (let round = 0; round < 20; round += 1) {
      cell.move('web-0-1', 'Serving', 'endpoints-controller');
      cell.move('web-0-1', 'Ready', 'endpoints-controller');
    }
    cell.move('web-0-1', 'Failed', 'agent:n1');
    cell.forget('web-0-1', '/t/shop/web/0');
    expect([...cell.violations, ...cell.whole()]).toEqual([]);
    expect(cell.checkers[0]?.checked).toBeGreaterThan(40);
  });

  it.each([
    ['an edge that is not in the graph', 'Ready', 'agent:n1', 'no edge from Bound to Ready'],
    ['an edge that is another’s', 'Starting', 'scheduler', "not scheduler:one's"],
    ['the agent of another node', 'Starting', 'agent:n2', 'agent:n2 moved it to Starting; it is bound to n1'],
    ['a nobody', 'Starting', 'somebody', "not somebody:one's"],
  ] as const)('%s is noticed', (_, to, actor, what) => {
    const cell = bound();
    cell.move('web-0-1', to, actor);
    expect(cell.messages.join()).toContain(what);
    expect(cell.whole()).toEqual(cell.violations);
  });

  it('a stage that changes without a transition is noticed, and a transition without its stage', () => {
    const [silent, idle] = [bound(), bound()];
    transitions(silent, (list) => list.slice(0, -1)).move('web-0-1', 'Starting', 'agent:n1');
    status(idle, (old) => ({ ...old, stage: 'Bound' })).move('web-0-1', 'Starting', 'agent:n1');
    expect(silent.messages.join()).toContain('is Starting; its transitions lead to Bound');
    expect(idle.messages.join()).toContain('is Bound; its transitions lead to Starting');
    expect(silent.whole()).toHaveLength(1);
  });

  it.each([
    ['rewritten', (list: readonly ReplicaTransition[]) => list.map((one) => ({ ...one, reason: 'Other' }))],
    ['dropped before there are too many', (list: readonly ReplicaTransition[]) => list.slice(1)],
  ])('transitions that are %s are noticed', (_, change) => {
    const cell = bound();
    transitions(cell, change).move('web-0-1', 'Starting', 'agent:n1');
    expect(cell.messages.join()).toContain('otherwise than by appending');
  });

  it('a transition from a stage it was not at is noticed', () => {
    const cell = bound();
    transitions(cell, (list) =>
      list.with(list.length - 1, { ...(list.at(-1) as ReplicaTransition), from: 'Ready' }),
    );
    cell.move('web-0-1', 'Starting', 'agent:n1');
    expect(cell.messages.join()).toContain('a transition from Ready to Starting was made at Bound');
  });

  it('an operation that moves a replica twice is noticed', () => {
    const cell = bound();
    transitions(cell, (list) =>
      list.with(list.length - 1, {
        ...(list.at(-1) as ReplicaTransition),
        operation: list[0]?.operation ?? '',
      }),
    );
    cell.move('web-0-1', 'Starting', 'agent:n1');
    expect(cell.messages.join()).toContain('moved it again, to Starting');
  });

  it('nothing leaves a terminal stage', () => {
    const cell = bound();
    cell.move('web-0-1', 'Failed', 'agent:n1');
    cell.altering((draft) =>
      draft.change<{ status: ReplicaStatus }>(replicaKey('web-0-1'), ({ status: old }) => ({
        status: { ...old, stage: 'Ready' },
      })),
    );
    cell.transact('server-1', () => undefined);
    expect(cell.messages.join()).toContain('left the terminal stage Failed for Ready');
  });
});

describe('[S6] every other write is its owner’s', () => {
  const change = (cell: HonestCell, by: string, key: string, patch: object): HonestCell => {
    cell.transact(by, (draft) => draft.put(key, { ...(draft.get(key) as object | undefined), ...patch }));
    return cell;
  };
  const workload = objectKey('Workload', 'shop', 'web');

  it('what owners write is fine, and so is metadata', () => {
    const cell = settled();
    change(cell, 'user-ann', workload, { spec: { replicas: 3 } });
    change(cell, 'controller-2', workload, { metadata: { name: 'web', finalizers: ['x'] } });
    change(cell, 'controller-2', '/s/Workload/shop/web', { status: { replicas: 3 } });
    cell.object('server-1', 'Tenant', undefined, 'default', {});
    cell.transact('controller-1', (draft) => draft.put(workload, undefined));
    expect(cell.violations).toEqual([]);
  });

  it.each([
    ['a controller that writes a spec', 'controller-1', workload, { spec: { replicas: 9 } }],
    ['a user who writes a status', 'user-ann', '/s/Workload/shop/web', { status: { replicas: 9 } }],
    ['a server that changes a tenant', 'server-1', '/o/Tenant/_/shop', { spec: { limit: {} } }],
  ])('%s is noticed', (_, by, key, patch) => {
    expect(change(settled(), by, key, patch).messages.join()).toContain(`${by} wrote the`);
  });

  it('the table of writers can be another', () => {
    const checker = new OwnedWrites([{ kind: 'Node', part: 'spec', by: ['nobody'] }]);
    const cell = new HonestCell([checker]).settled();
    expect(cell.messages).toContain('user wrote the spec in /o/Node/_/n1, which is for nobody to write');
  });

  it('a replica’s spec that changes is noticed, and one that is deleted before it ended', () => {
    const cell = bound();
    change(cell, 'server-1', objectKey('Replica', 'shop', 'web-0-1'), { spec: { workload: 'other' } });
    cell.forget('web-0-1');
    expect(cell.messages).toEqual([
      "/o/Replica/shop/web-0-1: a replica's spec and uid never change; they did",
      '/s/Replica/shop/web-0-1 was deleted at stage Bound',
    ]);
  });
});
