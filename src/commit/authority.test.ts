import { describe, expect, it } from 'vitest';
import { realEnv } from '../env/real.js';
import type { Replica } from '../model/kinds/replica.js';
import type { NodeAccount, TenantAccount } from '../model/records.js';
import { kindOf } from '../objects/open-objects.fixture.js';
import { MemoryStore } from '../store/memory.js';
import { addNode, done, openAuthority, openCellOf, proposal, refOf } from './open-authority.fixture.js';

const open = async (tenant: object = {}) => {
  const env = realEnv();
  const opened = await openAuthority(new MemoryStore(env), env);
  return { ...opened, ...(await openCellOf(opened, tenant)) };
};

const account = async (cell: Awaited<ReturnType<typeof open>>, key: string): Promise<unknown> => {
  const [entry] = (await cell.store.read({ from: key, to: `${key}\0` })).entries;
  return entry === undefined ? undefined : JSON.parse(Buffer.from(entry.value).toString());
};

const current = async (cell: Awaited<ReturnType<typeof open>>, replica: Replica): Promise<Replica> => {
  const { revision } = await cell.store.read({ from: '/', to: '0' }, { limit: 1 });
  await cell.cache.notOlderThan(revision);
  return cell.objects.get(kindOf('Replica'), {
    kind: 'Replica',
    namespace: 'fraud',
    name: replica.metadata.name,
  }) as Replica;
};

describe('the authority', () => {
  it('[S2] binds what fits, posts its charge, and rejects with NodeFull what does not', async () => {
    const cell = await open();
    const epoch = await addNode(cell.authority, 'n1');
    const workload = await cell.addWorkload('score', { cpu: '3', memory: '1Gi' });
    const replicas = [];
    for (const slot of ['0', '1', '2']) replicas.push(await cell.incarnate(workload, slot));
    const outcomes = await cell.authority.bind(
      replicas.map((replica) => proposal(cell.scheduler, replica, 'n1', epoch)),
    );
    expect(outcomes.map(({ kind }) => kind)).toEqual(['Committed', 'Committed', 'Rejected']);
    expect(outcomes[2]).toMatchObject({ reason: 'NodeFull' });
    expect(((await account(cell, '/a/node/n1')) as NodeAccount).used).toEqual({
      cpuMilli: 6000,
      memoryBytes: 2 ** 31,
      replicas: 2,
    });
    expect(((await account(cell, '/a/tenant/fraud')) as TenantAccount).used).toMatchObject({
      cpuMilli: 6000,
      replicas: 2,
    });
    const bound = await current(cell, replicas[0] as Replica);
    expect(bound.status).toMatchObject({
      stage: 'Bound',
      binding: { node: 'n1', fence: replicas[0]?.metadata.resourceVersion },
    });
  });

  it('answers the same operation with its first result, and refuses a second bind', async () => {
    const cell = await open();
    const epoch = await addNode(cell.authority, 'n1');
    await addNode(cell.authority, 'n2');
    const replica = await cell.incarnate(await cell.addWorkload('score', { cpu: '1' }));
    const [first] = await cell.authority.bind([proposal(cell.scheduler, replica, 'n1', epoch)]);
    const [again] = await cell.authority.bind([proposal(cell.scheduler, replica, 'n1', epoch)]);
    expect(again).toMatchObject({ kind: 'AlreadyCommitted', result: done(first) });
    const [second] = await cell.authority.bind([proposal(cell.scheduler, replica, 'n2', epoch, 'another')]);
    expect(second).toMatchObject({ kind: 'Rejected', reason: 'AlreadyBound' });
  });

  it('[S1] two schedulers that pick the same GPU: one commits, the other is rejected with DeviceTaken', async () => {
    const cell = await open();
    const epoch = await addNode(cell.authority, 'n1', { devices: { gpu: ['GPU-1', 'GPU-2'] } });
    const workload = await cell.addWorkload('train', { devices: { gpu: 1 } });
    const [a, b] = [await cell.incarnate(workload, '0'), await cell.incarnate(workload, '1')];
    const devices = { gpu: ['GPU-1'] };
    const outcomes = await Promise.all([
      cell.authority.bind([{ ...proposal(cell.scheduler, a, 'n1', epoch), devices }]),
      cell.authority.bind([{ ...proposal(cell.scheduler, b, 'n1', epoch), devices }]),
    ]);
    expect(
      outcomes
        .flat()
        .map((outcome) => (outcome.kind === 'Rejected' ? outcome.reason : outcome.kind))
        .toSorted(),
    ).toEqual(['Committed', 'DeviceTaken']);
  });

  it('[S3] stays within the grant, and a lowered limit takes effect with the next grant', async () => {
    const cell = await open({ limit: { cpu: '4' } });
    const epoch = await addNode(cell.authority, 'n1');
    const workload = await cell.addWorkload('score', { cpu: '2' });
    const [a, b, c] = [
      await cell.incarnate(workload, '0'),
      await cell.incarnate(workload, '1'),
      await cell.incarnate(workload, '2'),
    ];
    done((await cell.authority.bind([proposal(cell.scheduler, a, 'n1', epoch)]))[0]);
    await cell.objects.modify(
      kindOf('Tenant'),
      { kind: 'Tenant', namespace: undefined, name: 'fraud' },
      'spec',
      (live) => ({ ...live, spec: { ...live.spec, limit: { cpu: '3' } } }),
    );
    done(await cell.authority.grant({ actor: cell.granter, tenant: 'fraud', operation: 'grant/2' }));
    expect(
      await cell.authority.bind([
        proposal(cell.scheduler, b, 'n1', epoch),
        proposal(cell.scheduler, c, 'n1', epoch),
      ]),
    ).toMatchObject([
      { kind: 'Rejected', reason: 'QuotaExceeded' },
      { kind: 'Rejected', reason: 'QuotaExceeded' },
    ]);
  });

  it('[S8] refuses a scheduler whose lease another has taken, and an agent whose node has registered again', async () => {
    const cell = await open();
    const epoch = await addNode(cell.authority, 'n1');
    const replica = await cell.incarnate(await cell.addWorkload('score', { cpu: '1' }));
    done((await cell.authority.bind([proposal(cell.scheduler, replica, 'n1', epoch)]))[0]);
    const bound = await current(cell, replica);
    const report = {
      node: 'n1',
      nodeEpoch: epoch,
      replica: refOf(replica),
      fence: bound.status?.binding?.fence ?? '',
      stage: 'Starting' as const,
      reason: 'Started',
    };
    await addNode(cell.authority, 'n1', { operation: 'register/n1/2' });
    expect(await cell.authority.report({ ...report, operation: 'r1' })).toMatchObject({
      kind: 'Rejected',
      reason: 'StaleEpoch',
    });
    const other = await cell.authority.takeLease({
      name: 'scheduler',
      holder: 'other',
      durationSeconds: 15,
      operation: 'take/other',
      unchangedSince: 'Alone',
    });
    expect(other.kind).toBe('Committed');
    const second = await cell.incarnate(await cell.addWorkload('other', { cpu: '1' }));
    expect(
      (await cell.authority.bind([proposal(cell.scheduler, second, 'n1', { cell: 1, number: 2 })]))[0],
    ).toMatchObject({ kind: 'Rejected', reason: 'StaleEpoch' });
  });

  it('a lease is not taken from a holder that has renewed it', async () => {
    const cell = await open();
    const seen = Number(
      cell.cache.get({ kind: 'Lease', namespace: undefined, name: 'scheduler' })?.object.metadata
        .resourceVersion,
    );
    done(await cell.authority.renew({ name: 'scheduler', holder: 'test', epoch: { cell: 1, number: 1 } }));
    const take = { name: 'scheduler', holder: 'other', durationSeconds: 15, operation: 'take/2' };
    expect(await cell.authority.takeLease({ ...take, unchangedSince: seen })).toMatchObject({
      kind: 'Rejected',
      reason: 'NotOwner',
    });
    done(
      await cell.authority.resign({
        name: 'scheduler',
        holder: 'test',
        epoch: { cell: 1, number: 1 },
        reason: 'Stopped',
      }),
    );
    expect(await cell.authority.takeLease(take)).toMatchObject({
      kind: 'Committed',
      result: { epoch: { cell: 1, number: 2 } },
    });
  });

  it('follows a replica from bound to its end, which frees its charge in the same transaction', async () => {
    const cell = await open();
    const epoch = await addNode(cell.authority, 'n1', { devices: { gpu: ['GPU-1'] } });
    const replica = await cell.incarnate(
      await cell.addWorkload('score', { cpu: '1', devices: { gpu: 1 }, ports: ['http', 'admin:9000'] }),
    );
    const { fence } = done((await cell.authority.bind([proposal(cell.scheduler, replica, 'n1', epoch)]))[0]);
    expect(await account(cell, '/a/node/n1')).toMatchObject({
      claims: {
        devices: { 'GPU-1': replica.metadata.uid },
        ports: { 9000: replica.metadata.uid, 20000: replica.metadata.uid },
      },
      revisions: { 'fraud/score-r1': 1 },
    });
    const report = (stage: 'Starting' | 'Ready' | 'Serving' | 'Succeeded', operation: string) =>
      cell.authority.report({
        node: 'n1',
        nodeEpoch: epoch,
        replica: refOf(replica),
        fence,
        stage,
        reason: 'Test',
        operation,
        exitCode: 0,
      });
    expect(await report('Ready', 'r0')).toMatchObject({ reason: 'NoSuchEdge' });
    done(await report('Starting', 'r1'));
    expect(await report('Starting', 'r1')).toMatchObject({ kind: 'AlreadyCommitted' });
    done(await report('Ready', 'r2'));
    expect(await report('Serving', 'r3')).toMatchObject({ reason: 'NotOwner' });
    done(await report('Succeeded', 'r4'));
    expect(await account(cell, '/a/node/n1')).toMatchObject({
      used: { cpuMilli: 0, replicas: 0, devices: { gpu: 0 } },
      claims: { devices: {}, ports: {} },
      revisions: {},
    });
    expect(await account(cell, '/a/tenant/fraud')).toMatchObject({ used: { cpuMilli: 0, replicas: 0 } });
    expect(await account(cell, '/a/workload/fraud/score')).toBeUndefined();
    const forget = { actor: cell.controller, replica: refOf(replica), operation: 'forget' };
    expect(await cell.authority.forget({ ...forget, dropSlot: false })).toMatchObject({
      reason: 'SlotTaken',
    });
    done(await cell.authority.forget({ ...forget, dropSlot: true }));
    expect(await account(cell, '/t/fraud/score/0')).toBeUndefined();
  });

  it('[S12] makes the next incarnation only when the last has ended, or is lost and may be replaced', async () => {
    const cell = await open();
    const repair = {
      kind: 'repair-controller' as const,
      name: 'test',
      lease: { name: 'repair-controller', epoch: { cell: 1, number: 1 } },
    };
    done(
      await cell.authority.takeLease({
        name: 'repair-controller',
        holder: 'test',
        durationSeconds: 15,
        operation: 'take/repair',
      }),
    );
    const epoch = await addNode(cell.authority, 'n1');
    const workload = await cell.addWorkload(
      'score',
      { cpu: '1' },
      { spec: { onNodeLost: { action: 'Replace' } } },
    );
    const first = await cell.incarnate(workload);
    await expect(cell.incarnate(workload, '0', 2)).rejects.toThrow('SlotTaken');
    done((await cell.authority.bind([proposal(cell.scheduler, first, 'n1', epoch)]))[0]);
    const lost = (replica: Replica, operation: string) =>
      cell.authority.move({
        actor: repair,
        replica: refOf(replica),
        from: 'Bound',
        to: 'Unknown',
        reason: 'LeaseExpired',
        operation,
      });
    done(await lost(first, 'u1'));
    const second = await cell.incarnate(workload, '0', 2);
    expect(second.status?.conditions).toMatchObject([{ type: 'MayRunTwice', status: 'True' }]);
    expect(await account(cell, '/a/tenant/fraud')).toMatchObject({
      used: { cpuMilli: 0, replicas: 0 },
      lost: { cpuMilli: 1000, replicas: 1 },
    });
    done((await cell.authority.bind([proposal(cell.scheduler, second, 'n1', epoch)]))[0]);
    done(await lost(second, 'u2'));
    await expect(cell.incarnate(workload, '0', 3)).rejects.toThrow('one replacement at a time');
    const { fence = '' } = (await current(cell, first)).status?.binding ?? {};
    const back = await cell.authority.report({
      node: 'n1',
      nodeEpoch: epoch,
      replica: refOf(first),
      fence,
      stage: 'Ready',
      reason: 'Back',
      operation: 'back',
    });
    expect(back).toMatchObject({ kind: 'Committed', result: { stage: 'Releasing' } });
    done(
      await cell.authority.report({
        node: 'n1',
        nodeEpoch: epoch,
        replica: refOf(first),
        fence,
        stage: 'Released',
        reason: 'Stopped',
        operation: 'stopped',
      }),
    );
    expect(await account(cell, '/a/tenant/fraud')).toMatchObject({ lost: { cpuMilli: 0, replicas: 0 } });
    expect(await account(cell, '/t/fraud/score/0')).not.toHaveProperty('lost');
  });

  it('[S12] keeps the record of a slot until the last of its replicas is forgotten, so that no name is given twice', async () => {
    const cell = await open();
    const epoch = await addNode(cell.authority, 'n1');
    const workload = await cell.addWorkload('score', { cpu: '1' });
    const first = await cell.incarnate(workload);
    const { fence } = done((await cell.authority.bind([proposal(cell.scheduler, first, 'n1', epoch)]))[0]);
    done(
      await cell.authority.report({
        ...{ node: 'n1', nodeEpoch: epoch, replica: refOf(first), fence, stage: 'Failed', reason: 'Exited' },
        operation: 'r1',
      }),
    );
    const second = await cell.incarnate(workload, '0', 2);
    done(
      await cell.authority.release({
        ...{
          actor: cell.controller,
          replica: refOf(second),
          proof: { kind: 'NeverBound' },
          reason: 'ScaledDown',
        },
        operation: 'r2',
      }),
    );
    const forget = (replica: Replica) =>
      cell.authority.forget({
        actor: cell.controller,
        replica: refOf(replica),
        dropSlot: true,
        operation: 'f',
      });
    expect(await forget(second)).toMatchObject({ kind: 'Rejected', reason: 'SlotTaken' });
    done(await forget(first));
    done(await forget(second));
    expect(await account(cell, '/t/fraud/score/0')).toBeUndefined();
    expect((await cell.incarnate(workload)).metadata.name).toBe('score-0-1');
  });
});
