import { describe, expect, it } from 'vitest';
import type { ReplicaStatus } from '../../model/kinds/replica.js';
import { nodeEpochKey, type SlotRecord, slotKey } from '../../model/records.js';
import { HonestCell, replicaKey } from './honest-cell.fixture.js';
import { SingleBinding } from './single-binding.js';

function cellWith(checker = new SingleBinding()): HonestCell {
  return new HonestCell([checker]).settled();
}
const closing = (cell: HonestCell): HonestCell =>
  cell.altering((draft) => draft.change<object>(nodeEpochKey('n1'), (old) => ({ ...old, state: 'Closed' })));
const attested = (cell: HonestCell): HonestCell =>
  cell.altering((draft) =>
    draft.change<object>(nodeEpochKey('n1'), (old) => ({ ...old, attestation: { by: 'ann' } })),
  );

describe('[S5] a replica has at most one binding', () => {
  it('and nothing is said while that is so', () => {
    const cell = cellWith().ordinaryDay();
    expect([...cell.violations, ...cell.whole()]).toEqual([]);
    expect(cell.checkers[0]?.checked).toBeGreaterThan(0);
  });

  it.each([
    ['changes', (binding: object) => ({ ...binding, node: 'n2' })],
    ['goes away', () => undefined],
  ])('a binding that %s is noticed', (_, change) => {
    const cell = cellWith();
    cell.incarnate('web');
    cell.bind('web-0-1', 'n1');
    cell.altering((draft) =>
      draft.change<{ status: ReplicaStatus }>(replicaKey('web-0-1'), ({ status }) => ({
        status: { ...status, binding: change(status.binding ?? {}) } as ReplicaStatus,
      })),
    );
    cell.move('web-0-1', 'Starting', 'agent:n1');
    expect(cell.messages.join()).toContain('its binding changed');
  });

  it('a replica is bound only while its slot names it', () => {
    const cell = cellWith();
    cell.incarnate('web');
    cell.incarnate('web', '0', 2);
    cell.bind('web-0-1', 'n1');
    expect(cell.messages.join()).toContain('slot 0 of web names uid-web-0-2');
  });

  it('two bindings of an AtMostOne slot are noticed, of an AtLeastOne slot not', () => {
    const cell = cellWith();
    for (const workload of ['web', 'once']) {
      cell.incarnate(workload);
      cell.bind(`${workload}-0-1`, 'n1');
      cell.incarnate(workload, '0', 2);
      cell.bind(`${workload}-0-2`, 'n2');
    }
    const twice = 'slot 0 of AtMostOne shop/once has 2 bindings: once-0-1 (Bound), once-0-2 (Bound)';
    expect(cell.messages).toContain(twice);
    expect(cell.messages.join()).not.toContain('web');
    expect(cell.whole().map(({ message }) => message)).toEqual([twice]);
  });
});

describe('[S5] a release without the agent’s word', () => {
  function lost(isFenced = true): HonestCell {
    const cell = cellWith();
    cell.incarnate('once');
    cell.bind('once-0-1', 'n1', { isFenced });
    cell.move('once-0-1', 'Unknown', 'repair-controller');
    return cell;
  }

  it('stands when the fence has expired and the epoch is closed, or on an attestation', () => {
    const expired = lost();
    expired.nowMs += 130_000;
    closing(expired).move('once-0-1', 'Released', 'repair-controller');
    const sworn = lost();
    attested(sworn).move('once-0-1', 'Released', 'repair-controller');
    expect([...expired.violations, ...sworn.violations]).toEqual([]);
  });

  it('is noticed when the lease changed within the window', () => {
    const cell = lost();
    cell.nowMs += 60_000;
    closing(cell).move('once-0-1', 'Released', 'repair-controller');
    expect(cell.messages.join()).toMatch(/whose lease had stood unchanged for \d+ ms, not 129870/);
  });

  it('is noticed when it was bound without a fence', () => {
    const cell = lost(false);
    cell.nowMs += 130_000;
    closing(cell).move('once-0-1', 'Released', 'repair-controller');
    expect(cell.messages.join()).toMatch(/was not bound to end with its fence/);
  });

  it('is noticed when the epoch stays open', () => {
    const cell = lost();
    cell.nowMs += 130_000;
    cell.move('once-0-1', 'Released', 'repair-controller');
    expect(cell.messages.join()).toContain('epoch 1.1, which is still Open and not attested');
  });
});

describe('[S5] an AtMostOne slot has at most one execution', () => {
  const execution = (workload: string, incarnation: number, running: boolean) => ({
    tenant: 'shop',
    workload,
    slot: '0',
    uid: `uid-${workload}-0-${incarnation}`,
    running,
    atMs: 7,
  });

  it('one after the other is fine, and AtLeastOne may overlap', () => {
    const checker = new SingleBinding();
    const cell = cellWith(checker);
    cell.incarnate('once');
    cell.incarnate('web');
    const found = [
      execution('once', 1, true),
      execution('once', 1, false),
      execution('once', 2, true),
      execution('web', 1, true),
      execution('web', 2, true),
    ].flatMap((one) => checker.noteExecution(one));
    expect(found).toEqual([]);
  });

  it('two at once are noticed, also of one replica, and an end without a start', () => {
    const checker = new SingleBinding();
    const cell = cellWith(checker);
    cell.incarnate('once');
    checker.noteExecution(execution('once', 1, true));
    expect(checker.noteExecution(execution('once', 2, true))).toHaveLength(1);
    expect(checker.noteExecution(execution('once', 1, true))).toHaveLength(1);
    expect(checker.noteExecution(execution('once', 3, false))[0]?.message).toContain('never started');
  });

  it('an execution counts until it has ended, however its record stands', () => {
    const checker = new SingleBinding();
    const cell = cellWith(checker);
    cell.incarnate('once');
    cell.move('once-0-1', 'Released', 'workload-controller');
    checker.noteExecution(execution('once', 1, true));
    cell.forget('once-0-1', slotKey('shop', 'once', '0'));
    expect(cell.get(slotKey('shop', 'once', '0')) as SlotRecord | undefined).toBeUndefined();
    expect(checker.noteExecution(execution('once', 2, true))[0]?.message).toContain(
      'uid-once-0-2 started at 7 ms while uid-once-0-1 still ran',
    );
  });
});
