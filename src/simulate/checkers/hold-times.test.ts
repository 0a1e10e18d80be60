import { describe, expect, it } from 'vitest';
import { TestCell } from './cell.fixture.js';
import { HoldTimes } from './hold-times.js';

const [object, key] = ['/o/Reservation/shop/hold', '/s/Reservation/shop/hold'];

class HeldCell extends TestCell {
  constructor(readonly checker = new HoldTimes()) {
    super([checker]);
    this.put('/l/collector', { epoch: { cell: 1, number: 1 } });
    this.put(object, { metadata: {}, spec: { deadlineSeconds: 30 } });
    this.say({ state: 'Held' });
  }

  put(at: string, value: unknown, afterSeconds = 1): this {
    this.nowMs += afterSeconds * 1_000 - 1_000;
    this.transact('server', (draft) => draft.put(at, value));
    return this;
  }
  say(status: object, afterSeconds = 1): this {
    return this.put(key, { status }, afterSeconds);
  }
  expire(afterSeconds: number): readonly string[] {
    return this.say({ state: 'Expired', reason: 'DeadlinePassed' }, afterSeconds).messages;
  }
}

describe('[S7] a hold', () => {
  it('expires after its deadline', () => {
    expect(new HeldCell().expire(30)).toEqual([]);
    expect(new HeldCell().expire(29)[0]).toMatch(/hold expired after 29000 ms, not 29970/);
  });

  it('gets its deadline again when a victim has ended, and under another leader', () => {
    const awaits = (count: number) => ({ state: 'Held', awaits: Array.from({ length: count }, () => ({})) });
    expect(new HeldCell().say(awaits(2)).say(awaits(1), 25).expire(29)).toHaveLength(1);
    const led = new HeldCell().put('/l/collector', { epoch: { cell: 1, number: 2 } }, 25);
    expect(led.expire(29)).toHaveLength(1);
  });

  it('may be given up at any time, and stays for a minute when it is over', () => {
    const deleted = (afterSeconds: number): readonly string[] => {
      const cell = new HeldCell().say({ state: 'Released', reason: 'OwnerEnded' });
      expect(cell.messages).toEqual([]);
      return cell.put(key, undefined, afterSeconds).messages;
    };
    expect(deleted(60)).toEqual([]);
    expect(deleted(59)[0]).toMatch(/which is Released, was deleted after 59000 ms, not 59940/);
  });
});
