import { describe, expect, it } from 'vitest';
import type { Node } from '../../model/kinds/node.js';
import {
  type NodeAccount,
  nodeAccountKey,
  nodeLeaseName,
  objectKey,
  tenantAccountKey,
} from '../../model/records.js';
import { HonestCell, replicaKey } from './honest-cell.fixture.js';
import { PromptBinding, promptMs } from './prompt-binding.js';

type Wants = Parameters<HonestCell['workload']>[1];

/** A cell in which schedulers are judged, calm from the start. */
function opened({ leases = ['scheduler'], accepted = (): 'Place' | 'Time' | undefined => 'Place' } = {}) {
  const cell = new HonestCell();
  const judge = new PromptBinding({ leases: () => leases, accepted });
  const said: string[] = [];
  let told = 0;
  const tell = (): void => {
    for (const commit of cell.commits.slice(told)) {
      for (const { rule, message } of judge.onCommit(commit, cell)) said.push(`${rule} ${message}`);
      told += 1;
    }
  };
  /** Something is committed, a moment after what was before it. */
  const soon = (act: () => void): void => {
    cell.nowMs -= 990;
    act();
    tell();
  };
  /** Time passes, and the holders of leases renew them. */
  const wait = (ms: number, renewing: readonly string[] = [...leases, 'node-n1', 'node-n2']): void => {
    for (const untilMs = cell.nowMs + ms; cell.nowMs < untilMs;) {
      cell.nowMs = Math.min(untilMs, cell.nowMs + 5_000) - 1_000;
      cell.pass(1, renewing);
      tell();
    }
  };
  cell.settled();
  judge.promiseFrom(0);
  tell();
  const queue = (name: string, wants: Wants = {}): void => {
    // The workload and its revision are a transaction each.
    cell.nowMs -= 1_980;
    cell.workload(name, wants);
    soon(() => cell.incarnate(name));
  };
  return { cell, judge, said, soon, wait, queue };
}

const change = (cell: HonestCell, key: string, patch: (value: never) => unknown): void =>
  void cell.transact('server-1', (draft) => draft.change<unknown>(key, patch as (value: unknown) => unknown));
const full = { resources: { cpu: '4' } };

describe('[L1] a replica that fits', () => {
  it('is bound within the bound, or that is said', () => {
    const { said, wait, queue } = opened();
    queue('app');
    wait(promptMs.Place - 100);
    expect(said).toEqual([]);
    wait(200);
    expect(said).toEqual([
      expect.stringMatching(
        /^L1 \/s\/Replica\/shop\/app-0-1 has fitted on n1 since \d+ ms \(Place\), and still waits/,
      ),
    ]);
  });

  it('and is bound in time is fine, and how long it waited is known', () => {
    const { cell, judge, said, soon, wait, queue } = opened();
    queue('app');
    wait(500);
    soon(() => cell.bind('app-0-1', 'n1'));
    wait(10_000);
    expect(said).toEqual([]);
    expect(judge.served).toMatchObject([{ replica: replicaKey('app-0-1'), kind: 'Place', waitedMs: 510 }]);
  });

  it('and is bound too late is said, also where the binding is the next commit', () => {
    const { cell, said, soon, queue } = opened();
    queue('app');
    cell.nowMs += 2_000;
    soon(() => cell.bind('app-0-1', 'n1'));
    expect(said).toHaveLength(1);
  });

  it.each<[string, Wants, (cell: HonestCell) => void]>([
    [
      'a node is said to be in its zone',
      { placement: { zones: ['c'] } },
      (cell) =>
        change(cell, objectKey('Node', undefined, 'n1'), (node: Node) => ({
          ...node,
          spec: { ...node.spec, zone: 'c' },
        })),
    ],
    [
      'the grant is raised',
      { resources: { memory: '1Gi' }, priorityClassName: 'high' },
      (cell) =>
        change(cell, tenantAccountKey('shop'), (account: { grant: object }) => ({
          ...account,
          grant: { ...account.grant, most: {} },
        })),
    ],
  ])('is judged from when %s', (_, wants, act) => {
    const { cell, said, soon, wait, queue } = opened();
    soon(() =>
      change(cell, tenantAccountKey('shop'), (account: { grant: object }) => ({
        ...account,
        grant: { ...account.grant, most: { cpuMilli: 6_000, memoryBytes: 0 } },
      })),
    );
    queue('app', wants);
    wait(60_000);
    expect(said).toEqual([]);
    soon(() => act(cell));
    wait(promptMs.Place + 100);
    expect(said).toHaveLength(1);
  });

  it('is not judged anew by what changes nothing for it', () => {
    const { cell, said, soon, wait, queue } = opened();
    queue('app');
    for (let index = 0; index < 20; index++) {
      wait(50);
      soon(() => change(cell, replicaKey('app-0-1'), (value: object) => ({ ...value })));
    }
    expect(said).toHaveLength(1);
  });
});

describe('[L1] nothing is promised', () => {
  it('before the cell is calm, and while something is excused', () => {
    const { judge, said, wait, queue, cell } = opened();
    judge.promiseFrom(cell.nowMs + 20_000);
    queue('app');
    wait(19_900);
    expect(said).toEqual([]);
    judge.excuse(cell.nowMs + 5_000);
    wait(5_900);
    expect(said).toEqual([]);
    wait(200);
    expect(said).toHaveLength(1);
  });

  it('while a scheduler does not lead', () => {
    const { said, wait, queue } = opened();
    queue('app');
    wait(500);
    wait(60_000, ['node-n1', 'node-n2']);
    expect(said.length).toBeLessThanOrEqual(15);
    const before = said.length;
    wait(60_000, ['node-n1', 'node-n2']);
    expect(said).toHaveLength(before);
  });

  it('to a replica that backs off', () => {
    const { judge, said, wait, queue, cell } = opened();
    queue('app');
    for (let index = 0; index < 4; index++) judge.noteRejection('uid-app-0-1', cell.nowMs);
    wait(1_700);
    expect(said).toEqual([]);
    wait(200);
    expect(said).toHaveLength(1);
  });

  it('to a replica beside which another one of a higher priority fits', () => {
    const { said, wait, queue } = opened();
    queue('low');
    queue('app', { priorityClassName: 'high' });
    wait(1_100);
    expect(said.map((one) => one.includes('app-0-1'))).toEqual([true]);
  });

  it('where no node would take it: no room, no custom filter, no node heard of lately, no neighbour, the wrong neighbour', () => {
    const refused = opened({ accepted: () => undefined });
    refused.queue('app');
    refused.wait(60_000);
    expect(refused.said).toEqual([]);
    const { said, wait, queue } = opened();
    queue('big', { resources: { cpu: '5' } });
    queue('lonely', {
      placement: { affinity: [{ topology: 'Zone', selector: { matchLabels: { app: 'db' } } }] },
    });
    wait(60_000);
    queue('once', { execution: 'AtMostOne' });
    wait(16_000, ['scheduler']);
    expect(said).toHaveLength(1);
    wait(60_000, ['scheduler']);
    expect(said).toHaveLength(1);
  });
});

describe('[L1] longer bounds hold', () => {
  it('where time has to show it: a node is heard of after a silence, or custom filters look at what no cure speaks of', () => {
    const { said, soon, wait, queue, cell } = opened();
    wait(60_000, ['scheduler']);
    queue('app', { execution: 'AtMostOne' });
    wait(5_000, ['scheduler']);
    expect(said).toEqual([]);
    soon(() => cell.pass(1, [nodeLeaseName('n1')]));
    wait(promptMs.Time - 200, ['scheduler']);
    expect(said).toEqual([]);
    wait(500, ['scheduler']);
    expect(said).toMatchObject([expect.stringContaining('(Time)')]);
    const picky = opened({ accepted: () => 'Time' });
    picky.queue('app');
    picky.wait(promptMs.Time - 100);
    expect(picky.said).toEqual([]);
    picky.wait(200);
    expect(picky.said).toHaveLength(1);
  });

  it('where replicas of a lower rank can be asked to leave', () => {
    const { said, soon, wait, queue, cell } = opened();
    soon(() =>
      change(cell, tenantAccountKey('shop'), (account: { grant: object }) => ({
        ...account,
        grant: { ...account.grant, most: {} },
      })),
    );
    for (const [name, node] of [
      ['a', 'n1'],
      ['b', 'n2'],
    ] as const) {
      queue(name, full);
      soon(() => cell.run(`${name}-0-1`, node, { rank: 'Borrowed' }));
    }
    queue('equal', full);
    wait(60_000);
    expect(said).toEqual([]);
    queue('app', { ...full, priorityClassName: 'high' });
    wait(promptMs.Room - 200);
    expect(said).toEqual([]);
    wait(500);
    expect(said).toMatchObject([expect.stringMatching(/app-0-1 .*\(Room\)/)]);
    // The scheduler may wait for a replica that leaves already.
    soon(() => cell.move('a-0-1', 'Releasing', 'drain'));
    wait(60_000);
    expect(said).toHaveLength(1);
  });

  it('where a hold is complete, and where it awaits somebody nothing is promised', () => {
    const { said, soon, wait, queue, cell } = opened();
    queue('app');
    soon(() => cell.hold('app-0-1', 'n1'));
    wait(promptMs.Hold + 100);
    expect(said).toMatchObject([expect.stringContaining('(Hold)')]);
    const other = opened();
    other.queue('victim', full);
    other.soon(() => other.cell.run('victim-0-1', 'n1'));
    other.queue('app', { priorityClassName: 'high' });
    other.soon(() => other.cell.hold('app-0-1', 'n1', {}, ['victim-0-1']));
    other.wait(60_000);
    expect(other.said).toEqual([]);
  });

  it('where enough members of a gang find places at once', () => {
    const { said, soon, wait, cell } = opened();
    const account = (used: number) => (value: NodeAccount) => ({ ...value, used: { cpuMilli: used } });
    soon(() => {
      cell.workload('crew', { resources: { cpu: '3' } }, 2);
      cell.object('controller-1', 'Gang', 'shop', 'crew', { workload: 'crew', minAvailable: 2 });
      cell.incarnate('crew', '0', 1, { gang: 'crew' });
      cell.incarnate('crew', '1', 1, { gang: 'crew' });
      change(cell, nodeAccountKey('n2'), account(2_000));
    });
    wait(60_000);
    expect(said).toEqual([]);
    soon(() => change(cell, nodeAccountKey('n2'), account(0)));
    wait(promptMs.Gang - 200);
    expect(said).toEqual([]);
    wait(500);
    expect(said).toHaveLength(2);
  });
});
