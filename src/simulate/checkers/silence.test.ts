import { describe, expect, it } from 'vitest';
import { TestCell } from './cell.fixture.js';
import { Silence } from './silence.js';

const epoch = (number: number) => ({ cell: 1, number });
const lease = (holder: string, number: number, renewals = 0) => ({
  ...{ holder, epoch: epoch(number), durationSeconds: holder === 'n1' ? 40 : 15, renewals },
});

/** A cell in which server-1 leads since the start, n1 has renewed its lease last at 10 s, and a replica is bound to n1. */
class SilentCell extends TestCell {
  constructor() {
    super([new Silence()]);
    this.lead(1);
    this.at(10);
    this.put('/e/n1', { epoch: epoch(1), state: 'Open', journalSince: epoch(1) });
    this.put('/o/Workload/shop/web', {
      metadata: {},
      spec: { onNodeLost: { action: 'Replace', afterSeconds: 45 } },
    });
    this.put('/o/Replica/shop/web-0-1', { metadata: { namespace: 'shop' }, spec: { workload: 'web' } });
    this.put('/s/Replica/shop/web-0-1', { status: this.#status });
    this.put('/l/node-n1', lease('n1', 1));
  }

  /** The next commit is made at so many seconds. */
  at(seconds: number): this {
    this.nowMs = seconds * 1_000 - 1_000;
    return this;
  }

  put(key: string, value: unknown): void {
    const { nowMs } = this;
    this.transact('server', (draft) => draft.put(key, value));
    this.nowMs = nowMs;
  }

  #number = 0;
  #status: object = { stage: 'Ready', transitions: [], binding: { node: 'n1' } };

  lead(number: number): void {
    this.#number = number;
    for (const name of ['repair-controller', 'detector'])
      this.put(`/l/${name}`, lease(`server-${number}`, number));
  }

  move(to: string, more: object = {}): void {
    const { transitions } = this.#status as { transitions: readonly object[] };
    const transition = { to, actor: 'repair-controller:x', epoch: epoch(this.#number), ...more };
    this.#status = { ...this.#status, stage: to, transitions: [...transitions, transition] };
    this.put('/s/Replica/shop/web-0-1', { status: this.#status });
  }

  /** Releases the replica; with a fence the epoch of the node is closed with it. */
  release(proof: string, state = 'Closed'): void {
    const { journalSince } = this.get('/e/n1') as { journalSince: object };
    this.altering((draft) => draft.put('/e/n1', { epoch: epoch(1), state, journalSince }));
    this.move('Released', { evidence: { proof } });
  }

  call(reachability: string): void {
    const gate = { state: 'Closed', reason: `LeaseExpired: silent for a while` };
    this.put('/s/Node/_/n1', { status: { reachability, gate } });
  }
}

const found = (run: (cell: SilentCell) => void): readonly string[] => {
  const cell = new SilentCell();
  run(cell);
  return cell.messages;
};

describe('[S5] a leader acts on a silence only after its whole time under this leader', () => {
  it.each([
    ['the window since the last renewal', 140, 0, []],
    ['less than that', 139, 0, [/FenceExpired from n1 for a silence of 129000 ms .* not 129870/]],
    ['the window since the term began', 200, 70, []],
    ['less than that, though the lease stood for longer', 199, 70, [/for a silence of 129000 ms/]],
  ])('a release by its fence after %s', (_, atSeconds, leadsSince, expected) => {
    const messages = found((cell) => {
      if (leadsSince > 0) cell.at(leadsSince).lead(2);
      cell.at(atSeconds).release('FenceExpired');
    });
    expect(messages).toHaveLength(expected.length);
    expected.forEach((one, index) => expect(messages[index]).toMatch(one));
  });

  it('a release by its fence under a term that is over, or with an epoch that stays open, is noticed', () => {
    expect(
      found((cell) => {
        cell.at(20).lead(2);
        cell.at(500).move('Released', { epoch: epoch(1), evidence: { proof: 'FenceExpired' } });
      }).join(),
    ).toMatch(/Infinity.*still Open/);
    expect(found((cell) => cell.at(500).release('FenceExpired', 'Open'))).toHaveLength(1);
  });

  it('a release by another journal needs the window since that began', () => {
    const anotherJournal = (cell: SilentCell): void =>
      cell.at(60).put('/e/n1', { epoch: epoch(2), state: 'Open', journalSince: epoch(2) });
    const released = (seconds: number): readonly string[] =>
      found((cell) => {
        anotherJournal(cell);
        cell.at(seconds).release('JournalExpired');
      });
    expect(released(190)).toEqual([]);
    expect(released(189)).toHaveLength(1);
  });

  it('a release on a word needs none', () => {
    expect(found((cell) => cell.at(12).release('Attested', 'Open'))).toEqual([]);
  });

  it.each([
    ['Suspect', 11],
    ['Unknown', 40],
    ['Lost', 130],
  ])('a node is called %s no sooner than %i s after the term began', (verdict, seconds) => {
    const called = (at: number): readonly string[] =>
      found((cell) => {
        cell.at(300).lead(2);
        cell.at(300 + at).call(verdict);
      });
    expect(called(seconds)).toEqual([]);
    expect(called(seconds - 1)[0]).toContain(`node n1 was called ${verdict}`);
  });

  it('a node is called Suspect no sooner than 11 s after the leader has seen it renew, as the leader says itself', () => {
    const called = (...arrivals: readonly number[]): readonly string[] =>
      found((cell) => {
        const gate = { state: 'Closed', reason: 'HeartbeatLate: silent for a while' };
        cell
          .at(300)
          .put('/s/Node/_/n1', { status: { reachability: 'Suspect', gate, evidence: { arrivals } } });
      });
    expect(called()).toEqual([]);
    expect(called(11, 16)).toEqual([]);
    expect(called(10, 15)[0]).toContain(
      'node n1 was called Suspect 10000 ms after it was heard of, not 11000',
    );
  });

  it('a replica is called Unknown for its lease, and Replaceable, no sooner than the term allows', () => {
    const replaceable = { type: 'Replaceable', status: 'True' };
    const called = (unknownAt: number, replaceableAt: number): readonly string[] =>
      found((cell) => {
        cell.at(300).lead(2);
        cell.at(300 + unknownAt).move('Unknown', { reason: 'LeaseExpired' });
        const { status } = cell.get('/s/Replica/shop/web-0-1') as { status: object };
        cell.at(300 + replaceableAt);
        cell.put('/s/Replica/shop/web-0-1', { status: { ...status, conditions: [replaceable] } });
      });
    expect(called(40, 45)).toEqual([]);
    expect(called(36, 45)[0]).toContain('was called Unknown for a silence of 36000 ms');
    expect(called(40, 41)[0]).toContain('was called Replaceable for a silence of 41000 ms');
  });
});
