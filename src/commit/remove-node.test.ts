import { beforeEach, describe, expect, it } from 'vitest';
import type { Node } from '../model/kinds/node.js';
import type { Replica } from '../model/kinds/replica.js';
import { nodeAccountKey, nodeEpochKey } from '../model/records.js';
import { kindOf } from '../objects/open-objects.fixture.js';
import { answer, done, openTestCell, type TestCell } from './test-cell.fixture.js';

const n1 = { kind: 'Node', namespace: undefined, name: 'n1' };
const kept = ['/a/node/n1', '/e/n1', '/l/node-n1', '/o/Node/_/n1', '/s/Node/_/n1'];

describe('a node that is deleted', () => {
  let cell: TestCell;
  const deleteIt = () => cell.objects.delete(kindOf('Node'), n1);
  const remove = async (actor = cell.actors['repair-controller']) => {
    const { uid } = (await cell.record<Node>('/o/Node/_/n1')).metadata;
    return cell.authority.removeNode({ actor, node: 'n1', uid, operation: cell.operation('remove') });
  };
  const left = async (): Promise<readonly string[]> => {
    const records = await Promise.all(kept.map((key) => cell.record(key)));
    return kept.filter((_, index) => records[index] !== undefined);
  };
  const attest = () =>
    cell.authority.attest({
      ...{ actor: cell.actors.operator, node: 'n1', nodeEpoch: { cell: 1, number: 1 } },
      ...{ reason: 'it was scrapped', forSeconds: 60, operation: cell.operation('attest') },
    });
  const gate = () =>
    cell.authority.gate({
      ...{ actor: cell.actors.detector, node: 'n1', nodeEpoch: { cell: 1, number: 1 } },
      ...{ reachability: 'Suspect', reason: 'HeartbeatLate', operation: cell.operation('gate') },
    });

  beforeEach(async () => {
    cell = await openTestCell();
    await cell.tenant('shop');
    await cell.node('n1');
  });

  it('[L7] that nothing is charged to goes with its account, its epoch and its lease', async () => {
    expect(answer(await remove())).toBe('NodeChanged: node n1 is not being deleted');
    expect(await deleteIt()).toMatchObject({ isGone: false });
    expect(answer(await remove(cell.actors.drain))).toMatch(/^NotOwner/);
    done(await remove());
    expect(await left()).toEqual([]);
    expect(answer(await gate())).toBe('NodeChanged: node n1 has never registered');
    expect(answer(await attest())).toBe('NodeChanged: node n1 has never registered');
    const renewal = { name: 'node-n1', holder: 'n1', epoch: { cell: 1, number: 1 } };
    expect(answer(await cell.authority.renew(renewal))).toBe('StaleEpoch: there is no lease node-n1');
    expect(await left()).toEqual([]);
  });

  it('[S8] and comes again never gets an epoch of before', async () => {
    await cell.node('n1');
    await deleteIt();
    done(await remove());
    expect(await cell.node('n1')).toEqual({ cell: 1, number: 3 });
    expect(await cell.node('n2')).toEqual({ cell: 1, number: 3 });
  });

  it('[L5] stays for as long as something is charged to it, takes nothing new, and what is Unknown there can be attested', async () => {
    await cell.node('n2');
    const replace = { onNodeLost: { action: 'Replace', afterSeconds: 45 } };
    const web = await cell.workload('shop', 'web', { cpu: '1' }, replace);
    const lost = async (replica: Replica, node: string): Promise<Replica> => {
      done(await cell.bind(replica, node));
      done(await cell.report(replica, 'Starting'));
      done(await cell.lose(replica));
      return replica;
    };
    const first = await lost(await cell.incarnate(web), 'n1');
    await deleteIt();
    expect(answer(await remove())).toBe('NodeChanged: 1 that are charged to node n1 have not ended');
    const second = await cell.incarnate(web, '0', 2);
    expect(answer(await cell.bind(second, 'n1'))).toBe('Tainted: node n1 is being deleted');
    await lost(second, 'n2');
    expect(answer(await cell.tryIncarnate(web, '0', 3))).toMatch(/^SlotTaken/);
    done(await attest());
    done(await cell.release(first, { kind: 'Attested' }));
    done(await cell.tryIncarnate(web, '0', 3));
    done(await remove());
    expect(await left()).toEqual([]);
  });

  it('keeps its finalizer whatever a client sends, and waits for those of others', async () => {
    const change = (finalizers: readonly string[]) =>
      cell.objects.modify(kindOf('Node'), n1, 'spec', (live) => ({
        ...live,
        metadata: { ...live.metadata, finalizers },
      }));
    await change(['example.com/mine']);
    await deleteIt();
    expect(answer(await remove())).toBe('NodeChanged: node n1 waits for example.com/mine');
    await change([]);
    expect((await cell.record<Node>('/o/Node/_/n1')).metadata.finalizers).toEqual(['berth.dev/charges']);
    done(await remove());
  });

  it('under somebody who looked before that leaves no status without an object', async () => {
    // As a node that registered when nothing kept it yet.
    const [{ value: account }, { value: epoch }] = (
      await Promise.all([nodeAccountKey('n1'), nodeEpochKey('n1')].map((key) => cell.record(key)))
    ).map((value) => ({ value: Buffer.from(JSON.stringify(value)) })) as [
      { value: Buffer },
      { value: Buffer },
    ];
    await deleteIt();
    done(await remove());
    await cell.store.transact({
      guards: [],
      writes: [
        { kind: 'put', key: nodeAccountKey('n1'), value: account },
        { kind: 'put', key: nodeEpochKey('n1'), value: epoch },
      ],
    });
    expect(answer(await gate())).toBe('NodeChanged: there is no node n1');
    expect(answer(await attest())).toMatch(/^NodeChanged/);
    expect(await cell.record('/s/Node/_/n1')).toBeUndefined();
    await cell.create('Node', undefined, 'n1', { region: 'local', zone: 'local' });
  });
});
