import { describe, expect, it } from 'vitest';
import {
  nodeAccountKey,
  nodeEpochKey,
  objectKey,
  statusKey,
  tenantAccountKey,
  workloadAccountKey,
} from '../model/records.js';
import type { Charge } from '../model/parts/charge.js';
import { TestPicture } from './cell.fixture.js';

const gibi = 1024 ** 3;
const nodeEpoch = { cell: 1, number: 1 };

/** One node, one workload whose replicas ask for a core, and a placement of the first of them. */
function opened() {
  const picture = new TestPicture();
  const account = picture.node('n1');
  picture.workload('web', { cpu: '1', memory: '1Gi' });
  const [replica] = picture.pending('web');
  if (replica === undefined) throw new Error('no replica');
  const { cell } = picture;
  const free = (node = 'n1'): number => cell.nodes.cpuFree[cell.nodes.rowOf(node) ?? -1] ?? Number.NaN;
  const charge: Charge = {
    tenant: 'bank',
    node: 'n1',
    rank: 'Borrowed',
    amounts: { cpu: '1', memory: '1Gi' },
    workload: 'web',
    revision: 'web-r1',
    region: 'local',
    zone: 'local',
  };
  /** What the authority writes in one transaction when it binds the replica. */
  const bound = (): void => {
    const used = { cpuMilli: 1_000, memoryBytes: gibi, replicas: 1 };
    cell.apply(nodeAccountKey('n1'), { ...account, used, revisions: { 'bank/web-r1': 1 } });
    cell.apply(tenantAccountKey('bank'), { ...cell.tenant('bank').account, used, borrowed: used });
    cell.apply(workloadAccountKey('bank', 'web'), {
      regions: { local: 1 },
      zones: { 'local/local': 1 },
      disrupted: 0,
    });
    picture.replicaStatus(replica.name, { stage: 'Bound', charge });
  };
  return { picture, cell, account, replica, free, bound, charge };
}

describe('the picture of a cell', () => {
  it('tells once that a placement on its way was given up, and nothing of one that is charged now', () => {
    const givenUp = { kind: 'GivenUp', node: 'n1', tenant: 'bank' };
    const { cell, replica, bound } = opened();
    const placement = { replica, node: 'n1', nodeEpoch };
    const status = (stage: string) => ({ status: { stage, charge: { node: 'n1' } } });
    cell.assume(placement);
    cell.unassume(replica);
    cell.unassume(replica);
    expect([cell.takeEasings(), cell.takeEasings()]).toEqual([[givenUp], []]);
    cell.assume(placement);
    bound();
    const came = { kind: 'Came', above: { priority: 0, isBorrowed: true } };
    expect(cell.takeEasings()).toEqual([came]);
    cell.apply(statusKey('Replica', 'bank', replica.name), status('Unknown'));
    cell.apply(statusKey('Replica', 'bank', replica.name), status('Ready'));
    expect(cell.takeEasings().map(({ kind }) => kind)).toEqual(['Found', 'Came']);
  });

  it('[L1] tells that the place of an assumed placement is free where the replica is charged elsewhere, or with another rank', () => {
    const { cell, picture, replica, charge } = opened();
    picture.node('n2');
    const shown = (status: object): readonly string[] => {
      cell.assume({ replica, node: 'n1', nodeEpoch });
      picture.replicaStatus(replica.name, { stage: 'Queued' });
      cell.takeEasings();
      cell.assume({ replica, node: 'n1', nodeEpoch });
      picture.replicaStatus(replica.name, status as { stage: 'Bound' });
      return cell
        .takeEasings()
        .map((easing) => ('node' in easing ? `${easing.kind} ${easing.node}` : easing.kind));
    };
    expect(shown({ stage: 'Bound', charge })).toEqual(['Came']);
    expect(shown({ stage: 'Bound', charge: { ...charge, node: 'n2' } })).toEqual(['GivenUp n1', 'Came']);
    expect(shown({ stage: 'Bound', charge: { ...charge, rank: 'Guaranteed' } })).toEqual([
      'GivenUp n1',
      'Came',
    ]);
    for (const node of ['n1', 'n2']) {
      picture.put('Reservation', 'bank', 'hold-1', { intent: 'Preemption', node });
      expect(shown({ stage: 'Scheduled', hold: 'hold-1' })).toEqual(node === 'n1' ? [] : ['GivenUp n1']);
    }
  });

  it('[L1] tells that a replica which was to leave is Unknown, or makes room for a hold', () => {
    const { cell, picture, replica, charge } = opened();
    const easings = (status: object): readonly string[] => {
      picture.replicaStatus(replica.name, status as { stage: 'Bound' });
      return cell.takeEasings().map(({ kind }) => kind);
    };
    expect(easings({ stage: 'Releasing', charge })).toEqual([]);
    expect(easings({ stage: 'Releasing', charge, awaitedBy: 'bank/hold-1' })).toEqual(['NotComing']);
    expect(easings({ stage: 'Unknown', charge })).toEqual(['NotComing']);
    expect(easings({ stage: 'Releasing', charge })).toEqual(['Found']);
    expect(easings({ stage: 'Released', charge })).toEqual([]);
  });

  it('[L2] gives up what was proposed for a replica that was something else and waits again, which nobody was told', () => {
    const { cell, picture, replica, free } = opened();
    const moved = (operation: string) => ({
      ...{ to: 'Queued', actor: 'x', reason: 'x', revision: '1', at: '2026-01-01T00:00:00Z' },
      operation,
    });
    const queued = (...operations: readonly string[]): boolean | undefined => {
      const transitions = operations.map(moved) as never;
      const state = cell.replica('bank', replica.name);
      if (state !== undefined) state.hasReturned = false;
      picture.replicaStatus(replica.name, { stage: 'Queued', transitions });
      return state?.hasReturned;
    };
    queued('incarnate');
    cell.assume({ replica, node: 'n1', nodeEpoch });
    expect([queued('incarnate'), free()]).toEqual([false, 7_000]);
    expect([queued('incarnate', 'reserve', 'expire'), free()]).toEqual([true, 8_000]);
  });

  it('counts what is free as what is offered less what the account says is used', () => {
    const { cell, account, free } = opened();
    expect(free()).toBe(8_000);
    cell.apply(nodeAccountKey('n1'), { ...account, used: { cpuMilli: 2_500, replicas: 2 } });
    expect(free()).toBe(5_500);
  });

  it('charges an assumed placement once: to node, tenant, spread and neighbours', () => {
    const { cell, replica, free } = opened();
    const placement = { replica, node: 'n1', nodeEpoch };
    cell.assume(placement);
    cell.assume(placement);
    expect(free()).toBe(7_000);
    expect(cell.tenantAccount('bank').used).toEqual({ cpuMilli: 1_000, memoryBytes: gibi, replicas: 1 });
    expect(cell.spreadOf('bank', 'web')).toEqual({ zones: { 'local/local': 1 }, regions: { local: 1 } });
    expect(cell.nodes.revisionRows.countAt('bank/web-r1', 0)).toBe(1);
  });

  it('takes an assumption that was refused back without a trace', () => {
    const { cell, replica, free } = opened();
    cell.assume({ replica, node: 'n1', nodeEpoch });
    cell.unassume(replica);
    cell.unassume(replica);
    expect(free()).toBe(8_000);
    expect(cell.tenantAccount('bank').used.cpuMilli ?? 0).toBe(0);
    expect(cell.spreadOf('bank', 'web').zones).toEqual({});
    expect(cell.nodes.revisionRows.rowsOf('bank/web-r1')).toBeUndefined();
  });

  it('never counts a placement twice: the revision that shows the charge ends the assumption', () => {
    const { cell, replica, free, bound } = opened();
    cell.assume({ replica, node: 'n1', nodeEpoch });
    bound();
    expect(free()).toBe(7_000);
    expect(cell.isAssumed(replica)).toBe(false);
    expect(cell.tenantAccount('bank').used.cpuMilli).toBe(1_000);
    expect(cell.spreadOf('bank', 'web').zones).toEqual({ 'local/local': 1 });
    expect(cell.nodes.revisionRows.countAt('bank/web-r1', 0)).toBe(1);
    cell.unassume(replica);
    expect(free()).toBe(7_000);
  });

  it('keeps an assumption through changes that do not show it', () => {
    const { cell, account, picture, replica, free } = opened();
    cell.assume({ replica, node: 'n1', nodeEpoch });
    cell.apply(nodeAccountKey('n1'), { ...account, used: { cpuMilli: 500 } });
    picture.replicaStatus(replica.name, { stage: 'Queued', message: 'still waits' });
    expect(free()).toBe(6_500);
  });

  it('drops an assumption when its replica ends or is deleted', () => {
    for (const gone of ['ended', 'deleted']) {
      const { cell, picture, replica, free } = opened();
      cell.assume({ replica, node: 'n1', nodeEpoch });
      if (gone === 'ended') picture.replicaStatus(replica.name, { stage: 'Released' });
      else cell.apply(objectKey('Replica', 'bank', replica.name), undefined);
      expect(free(), gone).toBe(8_000);
    }
  });

  it('gives the row of a node that is gone to another, and leaves old assumptions behind', () => {
    const { cell, picture, replica, free } = opened();
    cell.assume({ replica, node: 'n1', nodeEpoch });
    cell.apply(objectKey('Node', undefined, 'n1'), undefined);
    cell.apply(statusKey('Node', undefined, 'n1'), undefined);
    cell.apply(nodeEpochKey('n1'), undefined);
    expect(cell.nodes.rowOf('n1')).toBe(0);
    cell.apply(nodeAccountKey('n1'), undefined);
    expect(cell.nodes.rowOf('n1')).toBeUndefined();
    picture.node('n2');
    expect(cell.nodes.rowOf('n2')).toBe(0);
    expect(free('n2')).toBe(8_000);
    cell.unassume(replica);
    expect(free('n2')).toBe(8_000);
    expect(cell.nodes.nodeCount).toBe(1);
  });

  it('knows who is charged on a node, until it ends', () => {
    const { cell, picture, replica, bound, charge } = opened();
    expect(cell.chargesOn('n1')).toEqual([]);
    bound();
    expect(cell.chargesOn('n1').map(({ stored }) => stored?.metadata.name)).toEqual([replica.name]);
    picture.replicaStatus(replica.name, { stage: 'Failed', charge, binding: { node: 'n1' } as never });
    expect(cell.chargesOn('n1')).toEqual([]);
    expect(cell.workload('bank', 'web').failures).toEqual(new Map([['n1', 1]]));
    cell.apply(objectKey('Replica', 'bank', replica.name), undefined);
    cell.apply(statusKey('Replica', 'bank', replica.name), undefined);
    expect(cell.workload('bank', 'web').failures).toEqual(new Map());
    expect(cell.replica('bank', replica.name)).toBeUndefined();
  });

  it('counts a failure while both records are there, whichever comes first', () => {
    const { cell, picture, replica } = opened();
    const key = objectKey('Replica', 'bank', replica.name);
    const stored = cell.replica('bank', replica.name)?.stored;
    cell.apply(key, undefined);
    picture.replicaStatus(replica.name, { stage: 'Failed', binding: { node: 'n1' } as never });
    expect(cell.workload('bank', 'web').failures).toEqual(new Map());
    cell.apply(key, stored);
    expect(cell.workload('bank', 'web').failures).toEqual(new Map([['n1', 1]]));
    picture.replicaStatus(replica.name, { stage: 'Queued' });
    expect(cell.workload('bank', 'web').failures).toEqual(new Map());
  });

  it('gives up what was assumed for a replica that is another one under its name', () => {
    const { cell, replica, free } = opened();
    cell.assume({ replica, node: 'n1', nodeEpoch });
    const stored = cell.replica('bank', replica.name)?.stored;
    cell.apply(objectKey('Replica', 'bank', replica.name), {
      ...stored,
      metadata: { ...stored?.metadata, uid: 'another' },
    });
    expect(cell.isAssumed(replica)).toBe(false);
    expect(free('n1')).toBe(8_000);
  });

  it('charges a workload that was forgotten and came again as it is now', () => {
    const { cell, picture, replica } = opened();
    const placement = { replica, node: 'n1', nodeEpoch };
    const key = objectKey('Workload', 'bank', 'web');
    cell.assume(placement);
    cell.unassume(replica);
    cell.apply(key, undefined);
    picture.put('Workload', 'bank', 'web', {});
    cell.assume(placement);
    expect(cell.spreadOf('bank', 'web').zones).toEqual({ 'local/local': 1 });
    // While something is assumed of it nothing is forgotten.
    cell.apply(key, undefined);
    expect(cell.spreadOf('bank', 'web').zones).toEqual({ 'local/local': 1 });
    cell.unassume(replica);
    expect(cell.spreadOf('bank', 'web').zones).toEqual({});
  });

  it('keeps those charged on a node in the order that they came, whoever leaves', () => {
    const { cell, picture, charge } = opened();
    const names = picture.pending('web', 3).map(({ name }) => name);
    for (const name of names) picture.replicaStatus(name, { stage: 'Bound', charge });
    picture.replicaStatus(names[1] ?? '', { stage: 'Released', charge });
    expect(cell.chargesOn('n1').map(({ stored }) => stored?.metadata.name)).toEqual([names[0], names[2]]);
  });

  it('shares one shape between nodes that say the same, and judges a shape anew when its number is reused', () => {
    const { cell, picture } = opened();
    picture.node('n2');
    expect(cell.nodes.shapeAt(1)).toBe(cell.nodes.shapeAt(0));
    picture.node('n3', { labels: { pool: 'gpu' }, spec: { zone: 'b' } });
    expect(cell.nodes.shapeAt(2)).toMatchObject({ zone: 'b', domain: 1, labels: { pool: 'gpu' } });
    const version = cell.nodes.shapesVersion;
    picture.node('n3');
    picture.node('n3', { labels: { pool: 'old' } });
    expect(cell.nodes.shapesVersion).toBeGreaterThan(version);
  });

  it('counts devices as amounts and as ids that nobody claims, with what is assumed', () => {
    const picture = new TestPicture();
    picture.node('g1', {
      account: {
        allocatable: { cpuMilli: 8_000, devices: { gpu: 2 } },
        devices: { gpu: ['a', 'b'] },
        used: { devices: { gpu: 1 } },
        claims: { devices: { a: 'someone' }, ports: { 8080: 'someone' } },
      },
    });
    picture.workload('train', { devices: { gpu: 1 }, ports: ['http:9090'] });
    const [replica] = picture.pending('train');
    const { nodes } = picture.cell;
    const gpus = nodes.deviceColumn('gpu');
    expect([gpus.free[0], gpus.idsFree[0]]).toEqual([1, 1]);
    if (replica !== undefined) picture.cell.assume({ replica, node: 'g1', nodeEpoch });
    expect([gpus.free[0], gpus.idsFree[0]]).toEqual([0, 0]);
    expect([8080, 9090, 9091].map((port) => nodes.isPortClaimed(0, port))).toEqual([true, true, false]);
  });
});
