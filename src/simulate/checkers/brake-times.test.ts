import { describe, expect, it } from 'vitest';
import type { ReplicaStatus } from '../../model/kinds/replica.js';
import { type LeaseRecord, nodeLeaseName, statusKey } from '../../model/records.js';
import { BrakeTimes } from './brake-times.js';
import { HonestCell } from './honest-cell.fixture.js';

const repair = 'repair-controller';
const zone = ['n1', 'n3', 'n4', 'n5', 'n6'];

/** Five nodes in one zone, and one elsewhere; a few replicas of unknown fate on n1. */
class ZoneCell extends HonestCell {
  constructor() {
    super([new BrakeTimes()]);
    this.settled();
    for (const name of zone.slice(1)) this.node(name, { region: 'eu', zone: 'a' });
    this.workload('lost', { resources: { cpu: '10m' } }, 20);
    for (let slot = 0; slot < 10; slot++) {
      const name = this.incarnate('lost', String(slot));
      this.bind(name, 'n1');
      this.move(name, 'Unknown', repair);
    }
    this.heard(60, [...zone, 'n2']);
  }

  /** Lets `seconds` pass, in which these nodes renew their leases. */
  heard(seconds: number, nodes: readonly string[]): this {
    this.pass(seconds, [repair, ...nodes.map(nodeLeaseName)]);
    return this;
  }

  give(slot: number): void {
    const conditions: ReplicaStatus['conditions'] = [
      { type: 'Replaceable', status: 'True', reason: 'SilentForLong', message: '', lastTransitionTime: '' },
    ];
    this.move(`lost-${slot}-1`, 'Unknown', repair, { conditions });
  }

  brake(reason: string | undefined): void {
    const conditions = reason === undefined ? [] : [{ type: 'Braked', status: 'True', reason }];
    this.transact('server-1', (draft) =>
      draft.put(statusKey('Region', undefined, 'eu'), { status: { conditions } }),
    );
  }
}

describe('[S6] where so many nodes are silent that repair stops', () => {
  it('nothing is given away for as long as the brake holds', () => {
    const given = (seconds: number): readonly string[] => {
      const cell = new ZoneCell().heard(seconds, ['n2']);
      cell.give(0);
      return cell.messages;
    };
    expect(given(310)).toEqual([]);
    expect(given(280)[0]).toContain('so many nodes are silent that repair is stopped');
    expect(new ZoneCell().heard(100, ['n2', 'n3', 'n4', 'n5', 'n6']).messages).toEqual([]);
  });

  it('the brake weakens only 40 s after as many nodes were last silent', () => {
    const eased = (seconds: number): readonly string[] => {
      const cell = new ZoneCell().heard(100, ['n2']);
      cell.brake('ZoneStopEuA');
      cell.heard(seconds, ['n2', 'n4', 'n5', 'n6']);
      cell.brake('ZoneSlowEuA');
      return cell.messages;
    };
    expect(eased(45)).toEqual([]);
    expect(eased(30)[0]).toMatch(/says that repair goes on around .*n1/);
  });

  it('one replica is given away every two seconds afterwards', () => {
    const given = (everyMs: number): readonly string[] => {
      const cell = new ZoneCell().heard(310, ['n2']);
      for (let slot = 0; slot < 10; slot++) {
        cell.altering((draft) =>
          draft.change<LeaseRecord>('/l/node-n2', (lease) => ({ ...lease, renewals: lease.renewals + 1 })),
        );
        cell.give(slot);
        cell.nowMs += everyMs - 1_000;
      }
      return cell.messages;
    };
    expect(given(2_000)).toEqual([]);
    expect(given(1_800)[0]).toMatch(/as number \d+ where repair is slow/);
  });
});

it('[S6] nothing is given away for a silence of less than 29 s, however short a lease is', () => {
  const given = (seconds: number): readonly string[] => {
    const cell = new ZoneCell();
    cell.transact('server-1', (draft) =>
      draft.change<object>('/l/node-n1', (lease) => ({ ...lease, durationSeconds: 15 })),
    );
    cell.heard(seconds, ['n2', ...zone.slice(1)]);
    cell.give(0);
    return cell.messages;
  };
  expect(given(30)).toEqual([]);
  expect(given(25)[0]).toContain('was given away on n1 for a silence after');
});
