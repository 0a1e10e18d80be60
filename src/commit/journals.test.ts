import { beforeEach, describe, expect, it } from 'vitest';
import type { Node } from '../model/kinds/node.js';
import type { Replica } from '../model/kinds/replica.js';
import type { Epoch } from '../model/records.js';
import { done } from './open-authority.fixture.js';
import { answer, openTestCell, type TestCell } from './test-cell.fixture.js';

let cell: TestCell;
let replica: Replica;
beforeEach(async () => {
  cell = await openTestCell();
  await cell.tenant('shop');
  await cell.node('n1', { journal: 'first' });
  const once = { template: { execution: 'AtMostOne' } };
  replica = await cell.incarnate(await cell.workload('shop', 'once', { cpu: '1' }, once));
  done(await cell.bind(replica, 'n1'));
  done(await cell.report(replica, 'Starting'));
});

const registered = async (journal: string | undefined): Promise<Epoch | undefined> => {
  const offer = { capacity: {}, allocatable: { cpu: '8' }, agent: {}, leaseSeconds: 40 };
  const named = journal === undefined ? {} : { journal };
  const operation = cell.operation('register');
  const { epoch } = done(await cell.authority.register({ ...offer, ...named, node: 'n1', operation }));
  cell.epochs.set('n1', epoch);
  return (await nodeStatus())?.journalSince;
};
const nodeStatus = async (): Promise<Node['status']> =>
  (await cell.record<{ status: Node['status'] }>('/s/Node/_/n1')).status;
const expired = (journalSince: Epoch, stoodSeconds: number) =>
  cell.release(replica, { kind: 'JournalExpired', journalSince, stoodSeconds });
const at = (number: number): Epoch => ({ cell: 1, number });

describe('[S5] the journal of a node', () => {
  it('counts from the first registration that named it, and each registration that names none begins another', async () => {
    expect(await registered('first')).toEqual(at(1));
    expect(await registered('second')).toEqual(at(3));
    expect(await registered('second')).toEqual(at(3));
    expect(await registered('first')).toEqual(at(5));
    expect(await registered(undefined)).toEqual(at(6));
    expect(await registered(undefined)).toEqual(at(7));
  });

  it('proves that something is over only if it was bound under it', async () => {
    await registered('first');
    done(await cell.report(replica, 'Failed', { reason: 'NotRunning' }));
  });

  it('proves nothing of what was bound before it began, however that is said', async () => {
    await registered('second');
    const refused =
      /^NotOwner: once-0-1 was bound before the journal of n1 began at epoch 1\.2: that it has ended is not in it$/;
    expect(answer(await cell.report(replica, 'Failed', { reason: 'NotRunning' }))).toMatch(refused);
    expect(answer(await cell.report(replica, 'Released', { reason: 'Stopped' }))).toMatch(refused);
    done(await cell.lose(replica));
    expect(answer(await cell.report(replica, 'Failed', { reason: 'NotRunning' }))).toMatch(refused);
    expect((await cell.status(replica)).stage).toBe('Unknown');
  });

  it('proves it of what the agent has seen run since, or has written down', async () => {
    await registered('second');
    done(await cell.report(replica, 'Ready'));
    expect((await cell.status(replica)).binding?.knownSince).toEqual(at(2));
    await registered('third');
    done(await cell.report(replica, 'Failed', { reason: 'ExitUnknown', isKnown: true }));
  });

  it('ends what was bound before it after the fence window, counted from when it began and no other', async () => {
    await registered('second');
    done(await cell.lose(replica));
    expect(answer(await expired(at(2), 129))).toBe(
      'FenceUnsound: the journal of n1 began 129 s ago; the fence window is 130 s',
    );
    await registered('third');
    expect(answer(await expired(at(2), 130))).toMatch(/^NodeChanged: n1 has another journal by now/);
    await registered('third');
    done(await expired(at(3), 130));
  });

  it('ends nothing that its agent knows, and nothing that does not stop by itself', async () => {
    await registered('second');
    done(await cell.report(replica, 'Ready'));
    done(await cell.lose(replica));
    expect(answer(await expired(at(2), 130))).toMatch(/^NodeChanged: the agent of n1 knows of /);
    const wait = { template: { execution: 'AtMostOne' }, onNodeLost: { action: 'Wait' } };
    replica = await cell.incarnate(await cell.workload('shop', 'waits', { cpu: '1' }, wait));
    done(await cell.bind(replica, 'n1'));
    await registered('third');
    done(await cell.lose(replica));
    expect(answer(await expired(at(3), 1_000))).toMatch(/^NotOwner: waits-0-1 does not stop by itself/);
  });

  it('that is another one is said on the node until it registers again', async () => {
    const said = async (): Promise<string[]> =>
      ((await nodeStatus())?.conditions ?? []).map(({ type }) => type);
    expect(await said()).toEqual([]);
    await registered('second');
    expect(await said()).toEqual(['JournalLost']);
    await registered('second');
    expect(await said()).toEqual([]);
  });
});
