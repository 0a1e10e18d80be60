import { describe, expect, it } from 'vitest';
import { nodeLeaseName, statusKey } from '../../model/records.js';
import { deadlinesTakeEffect } from './deadlines.js';
import { HonestCell } from './honest-cell.fixture.js';

const leaders = ['collector', 'repair-controller'];
const all = [...leaders, nodeLeaseName('n1'), nodeLeaseName('n2')];

/** A cell with one replica that is queued; what happens to it is told by each test. */
function open() {
  const cell = new HonestCell().settled();
  const name = cell.incarnate('web');
  const judged = () => {
    const { checked, violations } = deadlinesTakeEffect(cell, {
      ...{ rejectedBinds: [], windows: [], upNodes: [], quietCommits: [], actsAt: () => [] },
      ...{ commits: cell.commits, endMs: cell.nowMs },
    });
    return { checked, messages: violations.map(({ message }) => message.replace(/ at \d+ ms.*/, '')) };
  };
  return { cell, name, judged };
}
const human = {
  conditions: ['Replaceable', 'NeedsHuman'].map((type) => ({
    type,
    status: 'True',
    reason: 'NodeSilent',
    message: '',
  })),
} as never;

describe('[L5] the deadline of a hold', () => {
  it('that takes effect is fine, and one that was bound in time had none', () => {
    const { cell, name, judged } = open();
    cell.hold(name, 'n1');
    cell.pass(35, all);
    cell.releaseHold(name);
    expect(judged()).toEqual({ checked: 1, messages: [] });
    cell.hold(name, 'n1');
    cell.bind(name, 'n1');
    expect(judged().checked).toBe(1);
  });

  it('that takes none is noticed, by then and at the end', () => {
    const { cell, name, judged } = open();
    cell.hold(name, 'n1');
    cell.pass(100, all);
    const messages = ['/s/Reservation/shop/hold-web-0-1 was Held'];
    expect(judged()).toEqual({ checked: 1, messages });
    cell.releaseHold(name);
    expect(judged()).toEqual({ checked: 1, messages });
  });

  it('counts from when somebody leads: a change of leaders, and a time without any, begin it anew', () => {
    const { cell, name, judged } = open();
    cell.hold(name, 'n1');
    cell.pass(60, all);
    cell.pass(40, [nodeLeaseName('n1')]);
    cell.pass(60, all);
    expect(judged()).toEqual({ checked: 1, messages: [] });
    cell.pass(60, all);
    expect(judged().messages).toHaveLength(1);
  });

  it.each([
    ['of a gang that is committed is none', 'Gang', 0],
    ['of a member of a committed gang that holds for itself is like any', 'Preemption', 1],
  ])('%s', (_, intent, checked) => {
    const { cell, judged } = open();
    const member = cell.incarnate('web', '1', 1, { gang: 'crew' });
    cell.hold(member, 'n1');
    cell.transact('server-1', (draft) => {
      draft.change<{ spec: object }>('/o/Reservation/shop/hold-web-1-1', (hold) => ({
        ...hold,
        spec: { ...hold.spec, intent },
      }));
      draft.put(statusKey('Gang', 'shop', 'crew'), { status: { state: 'Committed' } });
    });
    cell.pass(200, all);
    expect(judged()).toMatchObject({ checked, messages: { length: checked } });
  });
});

describe('[L5] the deadline of a stage', () => {
  it.each([
    ['Bound', 300],
    ['Starting', 330],
    ['Releasing', 38],
  ] as const)('%s is noticed if it takes no effect', (stage, seconds) => {
    const { cell, name, judged } = open();
    cell.bind(name, 'n1');
    if (stage !== 'Bound') cell.move(name, stage, 'agent:n1');
    cell.pass(seconds - 5, all);
    expect(judged()).toEqual({ checked: 0, messages: [] });
    cell.pass(40, all);
    expect(judged()).toEqual({ checked: 1, messages: [] });
    cell.pass(20, all);
    expect(judged()).toEqual({
      checked: 1,
      messages: [`/s/Replica/shop/web-0-1 was ${stage} on n1`],
    });
  });

  it('is that of its node too: what is on one whose lease has expired is not left as it is', () => {
    const { cell, name, judged } = open();
    cell.run(name, 'n1');
    cell.pass(45, leaders);
    cell.move(name, 'Unknown', 'repair-controller');
    expect(judged()).toEqual({ checked: 1, messages: [] });
    const left = open();
    left.cell.run(left.name, 'n1');
    left.cell.pass(100, leaders);
    expect(left.judged().messages).toEqual(['/s/Replica/shop/web-0-1 was Ready on n1']);
  });
});

describe('[L5] what is said of a node for a time', () => {
  const told = (drain: object, attestation: object | undefined, seconds: number): readonly string[] => {
    const { cell, judged } = open();
    cell.transact('user', (draft) =>
      draft.change<{ spec: object }>('/o/Node/_/n1', (node) => ({
        ...node,
        spec: { ...node.spec, drain: { deadlineSeconds: 20 } },
      })),
    );
    const say = (status: object) =>
      cell.transact('server-1', (draft) => draft.put(statusKey('Node', undefined, 'n1'), { status }));
    say({ reachability: 'Fresh', drain, attestation });
    cell.pass(seconds, [...all, 'drain']);
    say({ reachability: 'Fresh' });
    return judged().messages;
  };
  const word = { operation: 'attest/1', forSeconds: 30 };

  it('is over by its deadline: a drain is called stuck, and the word of a human expires', () => {
    expect(told({ state: 'Draining' }, word, 60)).toEqual([]);
    expect(told({ state: 'Draining' }, undefined, 70)).toEqual(['/s/Node/_/n1 was Draining']);
    expect(told({ state: 'Stuck' }, word, 80)).toEqual(['/s/Node/_/n1 was attested']);
    expect(told({ state: 'Complete' }, undefined, 500)).toEqual([]);
  });
});

describe('[L5] what stays Unknown', () => {
  it('asks for a human in the end, whatever its workload says', () => {
    const { cell, name, judged } = open();
    cell.run(name, 'n1');
    cell.move(name, 'Unknown', 'repair-controller');
    cell.pass(300, leaders);
    expect(judged().messages).toEqual([
      '/s/Replica/shop/web-0-1 was Unknown on n1 and not Replaceable',
      '/s/Replica/shop/web-0-1 was Unknown on n1',
    ]);
    const told = open();
    told.cell.run(told.name, 'n1');
    told.cell.move(told.name, 'Unknown', 'repair-controller', human);
    told.cell.pass(300, leaders);
    expect(told.judged().messages).toEqual([]);
  });

  it('may wait while so much is silent there that repair is held back', () => {
    const { cell, name, judged } = open();
    cell.run(name, 'n1');
    cell.move(name, 'Unknown', 'repair-controller');
    const brake = (status: string): void =>
      void cell.transact('server-1', (draft) =>
        draft.put(statusKey('Region', undefined, 'eu'), {
          status: { conditions: [{ type: 'Braked', status }] },
        }),
      );
    brake('True');
    cell.pass(400, leaders);
    expect(judged().messages).toEqual([]);
    brake('False');
    cell.pass(100, leaders);
    expect(judged().messages).toEqual([]);
    cell.pass(200, leaders);
    expect(judged().messages).toHaveLength(2);
  });
});
