import { describe, expect, it } from 'vitest';
import type { ReplicaStatus } from '../../model/kinds/replica.js';
import { objectKey, type SlotRecord, slotKey } from '../../model/records.js';
import { HonestCell, replicaKey } from './honest-cell.fixture.js';
import { Slots } from './slots.js';

const settled = (): HonestCell => new HonestCell([new Slots()]).settled();
const slot = slotKey('shop', 'web', '0');
const record = (cell: HonestCell, change: (record: SlotRecord) => object): HonestCell =>
  cell.altering((draft) => draft.change<object>(slot, change as (value: object) => object));
const status = (cell: HonestCell, name: string, patch: object): HonestCell =>
  cell.altering((draft) =>
    draft.change<{ status: ReplicaStatus }>(replicaKey(name), (value) => ({
      status: { ...value.status, ...patch },
    })),
  );

/** A replica of web that is lost. */
function lost(workload = 'web'): HonestCell {
  const cell = settled();
  cell.incarnate(workload);
  cell.run(`${workload}-0-1`, 'n1');
  cell.move(`${workload}-0-1`, 'Unknown', 'repair-controller');
  return cell;
}

describe('[S12] a slot has one incarnation that counts', () => {
  it('one after the other, with one that is lost beside its replacement', () => {
    const cell = lost();
    cell.replace('web', '0', 2);
    cell.run('web-0-2', 'n2');
    expect([...cell.violations, ...cell.whole()]).toEqual([]);
    expect(cell.checkers[0]?.checked).toBeGreaterThan(0);
  });

  it('two that are active at once are noticed', () => {
    const cell = settled();
    cell.incarnate('web');
    cell.incarnate('web', '0', 2);
    expect(cell.messages).toContain(`${slot}: web-0-1 (Queued) and web-0-2 (Queued) are active at once`);
    expect(cell.whole()).toEqual(cell.violations);
  });

  it('a lost one that is active again beside its replacement is noticed', () => {
    const cell = lost();
    cell.replace('web', '0', 2);
    cell.move('web-0-1', 'Ready', 'agent:n1');
    expect(cell.messages).toContain(`${slot}: web-0-1 (Ready) was replaced and is active again`);
  });

  it('a second that is lost is noticed', () => {
    const cell = lost();
    cell.replace('web', '0', 2);
    cell.run('web-0-2', 'n2');
    cell.move('web-0-2', 'Unknown', 'repair-controller');
    cell.replace('web', '0', 3);
    expect(cell.messages).toContain(`${slot}: web-0-1 (Unknown) has not ended and is neither named nor lost`);
  });

  it('an AtMostOne slot that is replaced before its last has ended is noticed', () => {
    const cell = lost('once');
    cell.replace('once', '0', 2);
    expect(cell.messages.join()).toContain('once-0-1 (Unknown) of an AtMostOne slot was replaced');
  });

  it.each([
    ['is not charged as lost', { charge: { subtotal: 'Counted' } }, 'is not charged as lost'],
    [
      'shows no condition',
      { conditions: [] },
      'no condition says that web-0-1 (Unknown) may run beside web-0-2',
    ],
  ])('a replaced one that %s is noticed', (_, patch, what) => {
    const cell = lost();
    cell.replace('web', '0', 2);
    status(cell, 'web-0-1', patch).transact('server-1', () => undefined);
    expect(cell.messages.join()).toContain(what);
    expect(cell.whole()).toEqual(cell.violations);
  });

  it('one that is charged as lost, or named as lost, without being so is noticed', () => {
    const cell = settled();
    cell.incarnate('web');
    cell.bind('web-0-1', 'n1');
    status(cell, 'web-0-1', { charge: { subtotal: 'Lost' } }).transact('server-1', () => undefined);
    expect(cell.messages.at(-1)).toContain('web-0-1 is charged as lost, but the slot does not say so');
    const other = settled();
    record(other, (old) => ({ ...old, lost: { replica: 'web-0-0', replicaUid: 'x' } })).incarnate('web');
    expect(other.messages.at(-1)).toContain('it says that web-0-0 is lost, which has ended or is not there');
  });

  it.each([
    ['another uid', { replicaUid: 'uid-x' }, 'it names web-0-1 (uid-x), which is not there'],
    ['another number', { incarnation: 7 }, 'incarnation 7 was made; the next was 1'],
  ])('a record with %s is noticed', (_, patch, what) => {
    const cell = settled();
    record(cell, (old) => ({ ...old, ...patch })).incarnate('web');
    expect(cell.messages.join()).toContain(what);
  });

  it('a record that names an older incarnation than there is is noticed', () => {
    const cell = settled();
    cell.incarnate('web');
    cell.move('web-0-1', 'Released', 'workload-controller');
    const old = cell.get(slot);
    cell.altering((draft) => draft.put(slot, old)).incarnate('web', '0', 2);
    expect(cell.messages.join()).toContain('it names incarnation 1 (web-0-1); the highest is 2');
  });

  it('a replica without a record is noticed, and a record without its replica', () => {
    const cell = settled();
    cell.incarnate('web');
    cell.transact('server-1', (draft) => draft.put(slot, undefined));
    expect(cell.messages).toEqual([`${slot}: web-0-1 (Queued) stands without a slot record`]);
    const ended = settled();
    ended.incarnate('web');
    ended.move('web-0-1', 'Released', 'workload-controller');
    ended.transact('server-1', (draft) => draft.put(slot, undefined));
    expect(ended.messages).toEqual([`${slot}: web-0-1 (Released) stands without a slot record`]);
    const other = settled();
    other.incarnate('web');
    other.forget('web-0-1');
    expect(other.messages).toEqual([`${slot}: it names web-0-1 (uid-web-0-1), which is not there`]);
    expect(other.whole()).toEqual(other.violations);
  });

  it('an incarnation under a name that is not its own is noticed', () => {
    const cell = settled();
    cell.altering((draft) =>
      draft.change<{ spec: object }>(objectKey('Replica', 'shop', 'web-0-1'), (replica) => ({
        ...replica,
        spec: { ...replica.spec, incarnation: 2 },
      })),
    );
    cell.incarnate('web');
    expect(cell.messages.join()).toContain('incarnation 2 is called web-0-1');
  });
});
