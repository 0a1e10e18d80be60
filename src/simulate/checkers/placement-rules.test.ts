import { describe, expect, it } from 'vitest';
import type { Node } from '../../model/kinds/node.js';
import type { ReplicaStatus } from '../../model/kinds/replica.js';
import type { Placement } from '../../model/parts/placement.js';
import { type NodeAccount, nodeAccountKey, nodeEpochKey, objectKey } from '../../model/records.js';
import { HonestCell, replicaKey } from './honest-cell.fixture.js';
import { PlacementRules } from './placement-rules.js';

const checked = (): HonestCell => new HonestCell([new PlacementRules()]).settled();

/** Binds the first replica of a workload with this placement to n1, after the node was changed. */
function bound(
  placement: Placement,
  spec: object = {},
  labels = {},
  prepare?: (cell: HonestCell) => void,
): HonestCell {
  const cell = checked();
  cell.workload('app', { placement });
  cell.incarnate('app');
  cell.transact('user', (draft) =>
    draft.change<Node>(objectKey('Node', undefined, 'n1'), (node) => ({
      ...node,
      metadata: { ...node.metadata, labels },
      spec: { ...node.spec, ...spec },
    })),
  );
  prepare?.(cell);
  cell.bind('app-0-1', 'n1');
  return cell;
}
const taint = (effect: string) => ({ taints: [{ key: 'gone', effect, value: 'soon' }] });

describe('[S4] a replica is bound only where its hard rules allow', () => {
  it.each([
    ['no rules', {}, {}, {}],
    ['its region and zone', { regions: ['eu'], zones: ['a'] }, {}, {}],
    ['its tenant', {}, { tenants: ['shop'] }, {}],
    ['its labels', { nodeSelector: { disk: 'fast' } }, {}, { disk: 'fast' }],
    [
      'a taint it tolerates by value',
      { tolerations: [{ key: 'gone', value: 'soon' }] },
      taint('NoExecute'),
      {},
    ],
    [
      'a taint it tolerates as any',
      { tolerations: [{ operator: 'Exists' as const }] },
      taint('NoSchedule'),
      {},
    ],
    ['a taint that only asks', {}, taint('PreferNoSchedule'), {}],
  ])('with %s nothing is said', (_, placement, spec, labels) => {
    const cell = bound(placement, spec, labels);
    expect(cell.violations).toEqual([]);
    expect(cell.checkers[0]?.checked).toBe(1);
  });

  it.each([
    ['region', { regions: ['us'] }, {}, {}, 'region eu is not one of us'],
    ['zone', { zones: ['b'] }, {}, {}, 'zone a is not one of b'],
    ['residency', {}, { region: 'us' }, {}, "outside the tenant's residency"],
    ['tenancy', {}, { tenants: ['bank'] }, {}, 'admits only bank'],
    ['selector', { nodeSelector: { disk: 'fast' } }, {}, { disk: 'slow' }, 'label disk is slow, not fast'],
    ['taint', {}, taint('NoSchedule'), {}, 'gone:NoSchedule is not tolerated'],
    ['other taint', { tolerations: [{ key: 'gone', value: 'x' }] }, taint('NoExecute'), {}, 'not tolerated'],
    ['unschedulable', {}, { unschedulable: true }, {}, 'unschedulable'],
    ['drain', {}, { drain: {} }, {}, 'drains'],
    [
      'recovery pool',
      {},
      {},
      { 'berth.dev/recovery-pool': 'true' },
      'class default may not use recovery pools',
    ],
  ])('a broken rule of %s is noticed', (_, placement, spec, labels, what) => {
    expect(bound(placement, spec, labels).messages.join()).toContain(what);
  });

  it('a node that is being deleted is noticed', () => {
    const cell = bound({}, {}, {}, (before) =>
      before.transact('user', (draft) =>
        draft.change<Node>(objectKey('Node', undefined, 'n1'), (node) => ({
          ...node,
          metadata: { ...node.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
        })),
      ),
    );
    expect(cell.messages.join()).toContain('the node is being deleted');
  });

  it('a hold is judged like a bind', () => {
    const cell = checked();
    cell.workload('app', { placement: { zones: ['b'] } });
    cell.incarnate('app');
    cell.hold('app-0-1', 'n1');
    expect(cell.messages.join()).toContain('/s/Reservation/shop/hold-app-0-1 on n1: zone a is not one of b');
  });

  it.each([
    [
      'a closed gate',
      (cell: HonestCell) =>
        cell.transact('server-1', (draft) =>
          draft.change<NodeAccount>(nodeAccountKey('n1'), (account) => ({
            ...account,
            gate: { state: 'Closed', since: '' },
          })),
        ),
      'the gate is Closed',
    ],
    [
      'a closed epoch',
      (cell: HonestCell) =>
        cell.transact('server-1', (draft) =>
          draft.change<object>(nodeEpochKey('n1'), (old) => ({ ...old, state: 'Closed' })),
        ),
      'epoch 1.1 of the node is closed',
    ],
    [
      'an old epoch',
      (cell: HonestCell) =>
        cell.transact('server-1', (draft) =>
          draft.change<object>(nodeEpochKey('n1'), (old) => ({ ...old, epoch: { cell: 1, number: 2 } })),
        ),
      'it was placed under epoch 1.1, the node is at 1.2',
    ],
    [
      'another zone in its charge',
      (cell: HonestCell) =>
        cell.altering((draft) =>
          draft.change<{ status: ReplicaStatus }>(replicaKey('app-0-1'), ({ status }) => ({
            status: {
              ...status,
              charge: { ...status.charge, zone: 'b' } as NonNullable<ReplicaStatus['charge']>,
            },
          })),
        ),
      'it is charged in eu/b, the node is in eu/a',
    ],
  ])('%s is noticed', (_, prepare, what) => {
    expect(bound({}, {}, {}, prepare).messages.join()).toContain(what);
  });

  it('a gate that the same transaction closes afterwards does not matter', () => {
    const cell = bound({}, {}, {}, (one) =>
      one.altering((draft) =>
        draft.change<NodeAccount>(nodeAccountKey('n1'), (account) => ({
          ...account,
          gate: { state: 'Closed', since: '' },
        })),
      ),
    );
    expect(cell.violations).toEqual([]);
  });

  it.each([
    ['room', { allocatable: { cpuMilli: 100 } }, 'more cpu is committed than the node offers'],
    ['its device', { devices: { gpu: [] } }, 'device n1-g0 that was held is not offered any more'],
  ])('a hold is not used on a node that came back without %s', (_, offer, what) => {
    const cell = checked();
    cell.workload('app', { resources: { cpu: '1', devices: { gpu: 1 } } });
    cell.incarnate('app');
    cell.hold('app-0-1', 'n1', { devices: { gpu: ['n1-g0'] } });
    cell.transact('server-1', (draft) =>
      draft.change<NodeAccount>(nodeAccountKey('n1'), (account) => ({ ...account, ...offer })),
    );
    cell.bind('app-0-1', 'n1');
    expect(cell.messages.join()).toContain(what);
  });

  it('a daemon’s replica goes to the node of its slot', () => {
    const cell = checked();
    cell.workload('logs', { type: 'Daemon' });
    cell.incarnate('logs', 'n2');
    cell.bind('logs.n2-1', 'n1');
    expect(cell.messages.join()).toContain('the slot of the daemon is for node n2');
  });

  it('a gang’s member is bound only once the gang is committed', () => {
    const cell = checked();
    cell.object('controller-1', 'Gang', 'shop', 'g', { workload: 'web', minAvailable: 1 });
    cell.transact('server-1', (draft) => draft.put('/s/Gang/shop/g', { status: { state: 'Reserving' } }));
    cell.incarnate('web', '0', 1, { gang: 'g' });
    cell.bind('web-0-1', 'n1');
    expect(cell.messages.join()).toContain('its gang g is Reserving, not Committed');
  });
});

describe('[S4] neighbours', () => {
  const away = (matchLabels?: Record<string, string>, topology: 'Node' | 'Zone' = 'Node'): Placement => ({
    antiAffinity: [{ topology, ...(matchLabels && { selector: { matchLabels } }) }],
  });

  it('of one workload that is kept apart do not share a node', () => {
    const cell = checked();
    cell.workload('app', { placement: away() });
    for (const slot of ['0', '1', '2']) cell.incarnate('app', slot);
    cell.bind('app-0-1', 'n1');
    cell.bind('app-1-1', 'n2');
    expect(cell.violations).toEqual([]);
    cell.bind('app-2-1', 'n1');
    expect(cell.messages).toEqual([
      '/s/Replica/shop/app-2-1 on n1: it must be kept from /s/Replica/shop/app-0-1 by Node',
    ]);
  });

  it.each([
    ['the one that comes', 'app', 'web'],
    ['the one that is there', 'web', 'app'],
  ])('with labels that %s is kept from do not share a node', (_, later, earlier) => {
    const cell = checked();
    cell.workload('web', { labels: { noisy: 'yes' } });
    cell.workload('app', { placement: away({ noisy: 'yes' }) });
    cell.incarnate(earlier);
    cell.incarnate(later);
    cell.bind(`${earlier}-0-1`, 'n1');
    expect(cell.violations).toEqual([]);
    cell.bind(`${later}-0-1`, 'n1');
    expect(cell.violations).toHaveLength(1);
  });

  it('are free again when they have ended, and a preference binds nobody', () => {
    const cell = checked();
    cell.workload('app', { placement: away() });
    cell.workload('soft', { placement: { antiAffinity: [{ topology: 'Node', mode: 'Preferred' }] } });
    for (const slot of ['0', '1']) cell.incarnate('app', slot);
    for (const slot of ['0', '1']) cell.incarnate('soft', slot);
    cell.bind('app-0-1', 'n1');
    cell.move('app-0-1', 'Failed', 'agent:n1');
    cell.bind('app-1-1', 'n1');
    for (const slot of ['0', '1']) cell.bind(`soft-${slot}-1`, 'n2');
    expect(cell.violations).toEqual([]);
  });

  it('of one workload that is kept apart by zone do not share a zone', () => {
    const cell = checked();
    cell.node('n3', { region: 'eu', zone: 'a' });
    cell.workload('app', { placement: away(undefined, 'Zone') });
    for (const slot of ['0', '1']) cell.incarnate('app', slot);
    cell.bind('app-0-1', 'n1');
    cell.bind('app-1-1', 'n3');
    expect(cell.messages.join()).toContain('by Zone');
  });

  it('are judged when a hold takes the place, not again when it is used', () => {
    const cell = checked();
    cell.workload('app', { placement: { spread: [{ topology: 'Zone' }] } });
    for (const slot of ['0', '1', '2']) cell.incarnate('app', slot);
    cell.bind('app-0-1', 'n1');
    cell.bind('app-1-1', 'n2');
    cell.hold('app-2-1', 'n1');
    cell.move('app-1-1', 'Failed', 'agent:n2');
    cell.bind('app-2-1', 'n1');
    expect(cell.violations).toEqual([]);
  });

  it('are spread over the regions the workload names, as far as its tenant may be there', () => {
    const cell = checked();
    cell.object('user', 'Region', undefined, 'eu-north', { jurisdiction: 'EU', zones: ['a'] });
    for (const [name, regions] of Object.entries({ app: ['eu', 'us'], all: ['eu', 'eu-north'] })) {
      cell.workload(name, { placement: { regions, spread: [{ topology: 'Region' }] } });
      for (const slot of ['0', '1']) {
        cell.incarnate(name, slot);
        cell.bind(`${name}-${slot}-1`, 'n1');
      }
    }
    expect(cell.messages).toEqual([
      '/s/Replica/shop/all-1-1 on n1: Region eu would have 2 of the workload, another 0; maxSkew is 1',
    ]);
  });

  it.each([
    ['Zone', {}, 'Zone eu/a would have 2 of the workload, another 0; maxSkew is 1'],
    ['Node', {}, 'Node n1 would have 2 of the workload, another 0; maxSkew is 1'],
    ['Zone', { zones: ['a'] }, undefined],
    ['Region', {}, undefined],
  ] as const)('are spread by %s with %o', (topology, more, what) => {
    const cell = checked();
    cell.workload('app', { placement: { spread: [{ topology }], ...more } });
    for (const slot of ['0', '1']) {
      cell.incarnate('app', slot);
      cell.bind(`app-${slot}-1`, 'n1');
    }
    expect(cell.messages.join()).toBe(what === undefined ? '' : `/s/Replica/shop/app-1-1 on n1: ${what}`);
  });
});
