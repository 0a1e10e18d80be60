import { done, openTestCell, type TestCell } from '../commit/test-cell.fixture.js';
import { SeededRandom } from '../env/random.js';
import type { Replica } from '../model/kinds/replica.js';
import type { BerthObject } from '../model/object.js';
import { mergePatched } from '../model/merge-patch.js';
import { recoveryPoolLabel } from '../model/records.js';
import { kindOf } from '../objects/open-objects.fixture.js';

/** A cell where one replica waits, more often than not because nothing takes it. */
export interface CurableCell {
  readonly cell: TestCell;
  readonly workload: BerthObject;
  readonly replica: Replica;
  readonly nodes: readonly string[];
  /** What each node was registered with. */
  readonly offers: ReadonlyMap<
    string,
    { readonly cpu: string; readonly memory: string; readonly gpus: number }
  >;
}

/** Nodes, neighbours, quota and rules as a seed has them; every charge is made by the real authority. */
export async function curableCell(seed: number): Promise<CurableCell> {
  const random = new SeededRandom(`cures/${seed}`);
  const under = (count: number): number => random.integer(count);
  const isOne = (of: number): boolean => under(of) === 0;
  const pick = <T>(list: readonly T[]): T => random.pick(list);
  const cell = await openTestCell({ isAudited: false });
  await cell.create('Region', undefined, 'eu', { jurisdiction: 'EU', zones: ['a', 'b'] });
  await cell.create('Region', undefined, 'us', { jurisdiction: 'US', zones: ['a', 'b'] });
  await cell.create('PriorityClass', undefined, 'vital', { value: 100, recoveryPools: true });
  await cell.tenant('other');
  await cell.tenant('bank');

  const nodes = Array.from({ length: 1 + under(5) }, (_, index) => `n${index}`);
  const offers = new Map<string, { cpu: string; memory: string; gpus: number }>();
  for (const name of nodes) {
    const offer = { cpu: String(1 + under(8)), memory: `${1 + under(8)}Gi`, gpus: under(3) };
    offers.set(name, offer);
    await cell.node(name, {
      region: pick(['eu', 'us']),
      zone: pick(['a', 'b']),
      labels: isOne(2) ? { pool: pick(['gpu', 'general']) } : {},
      ...registered(offer),
    });
  }

  // Others that are there already: of another tenant, of the same tenant, and of the same workload.
  const neighbours = { other: 'other', own: 'bank', work: 'bank' } as const;
  const made = new Map<string, BerthObject>();
  const workload = await cell.workload('bank', 'work', {}, {});
  for (const [name, tenant] of Object.entries(neighbours))
    for (const size of ['small', 'large']) {
      const resources = {
        cpu: size === 'small' ? '250m' : '1500m',
        memory: size === 'small' ? '128Mi' : '1Gi',
        ...(size === 'large' && isOne(2) && { devices: { gpu: 1 } }),
        ...(size === 'small' && isOne(2) && { ports: ['http:8080'] }),
      };
      if (name === 'work') {
        await cell.create('WorkloadRevision', 'bank', `work-${size}`, {
          ...{ workload: 'work', revision: size === 'small' ? 2 : 3, placement: {} },
          template: { ...(workload.spec?.['template'] as object), resources },
        });
        continue;
      }
      made.set(`${name}-${size}`, await cell.workload(tenant, `${name}-${size}`, resources));
    }
  let slot = 0;
  for (const node of nodes)
    for (let count = under(5); count > 0; count -= 1) {
      const size = pick(['small', 'large']);
      const name = pick(Object.keys(neighbours));
      const isWork = name === 'work';
      const of = isWork ? workload : made.get(`${name}-${size}`);
      if (of === undefined) continue;
      slot += 1;
      const charged = await cell.incarnate(of, String(slot), 1, isWork ? { revision: `work-${size}` } : {});
      // What does not fit stays where it is.
      await cell.bind(charged, node);
    }

  // Now what keeps the one that waits away.
  for (const node of nodes) {
    const spec = {
      ...(isOne(5) && { unschedulable: true }),
      ...(isOne(7) && { drain: { reason: 'test' } }),
      ...(isOne(3) && {
        taints: [
          { key: 'kept', value: 'for-others', effect: 'NoSchedule' },
          ...(isOne(3) ? [{ key: 'old', effect: 'NoExecute' }] : []),
        ],
      }),
      ...(isOne(6) && { tenants: ['other'] }),
    };
    await cell.set('Node', node, spec);
    if (isOne(4))
      await patchObject(cell, 'Node', node, { metadata: { labels: { [recoveryPoolLabel]: 'true' } } });
  }
  const limit = {
    ...(isOne(3) && { cpu: `${under(6_000)}m` }),
    ...(isOne(4) && { memory: `${under(4_000)}Mi` }),
    ...(isOne(4) && { replicas: under(12) }),
    ...(isOne(4) && { devices: { gpu: under(2) } }),
  };
  await cell.set('Tenant', 'bank', { limit, ...(isOne(4) && { residency: ['EU'] }) });
  done(await cell.grant('bank'));

  const resources = {
    cpu: `${100 + under(5_000)}m`,
    memory: `${1 + under(4_000)}Mi`,
    ...(isOne(3) && { devices: { gpu: 1 + under(2) } }),
    ...(isOne(3) && { ports: ['http:8080', 'admin'] }),
  };
  const placement = {
    ...(isOne(4) && { regions: [pick(['eu', 'us'])] }),
    ...(isOne(5) && { zones: [pick(['a', 'b'])] }),
    ...(isOne(4) && { nodeSelector: { pool: pick(['gpu', 'general']) } }),
    ...(isOne(4) && { tolerations: [{ key: 'kept', operator: 'Exists' }] }),
    ...(isOne(4) && { spread: [{ topology: pick(['Node', 'Zone', 'Region']), maxSkew: 1 + under(2) }] }),
    ...(isOne(4) && {
      antiAffinity: [
        { topology: pick(['Node', 'Zone']) },
        ...(isOne(2) ? [{ topology: 'Region', selector: { matchLabels: { app: 'other' } } }] : []),
      ],
    }),
  };
  const template = { ...(workload.spec?.['template'] as object), resources };
  await cell.create('WorkloadRevision', 'bank', 'work-r9', {
    ...{ workload: 'work', revision: 9, template, placement },
    ...(isOne(5) && { priorityClassName: 'vital' }),
  });
  const replica = await cell.incarnate(workload, 'last', 1, { revision: 'work-r9' });
  return { cell, workload, replica, nodes, offers };
}

/** What an agent registers with to offer this. */
export const registered = ({ cpu, memory, gpus }: { cpu: string; memory: string; gpus: number }) => {
  const amounts = { cpu, memory, devices: { gpu: gpus } };
  const ids = Array.from({ length: gpus }, (_, index) => `gpu-${index}`);
  return { capacity: amounts, allocatable: amounts, devices: { gpu: ids } };
};

/** Changes an object of the cluster as `kubectl patch --type merge` would. */
export const patchObject = async (
  cell: TestCell,
  kind: string,
  name: string,
  patch: object,
): Promise<void> => {
  await cell.objects.modify(
    kindOf(kind),
    { kind, namespace: undefined, name },
    'spec',
    (live) => mergePatched(live, patch) as BerthObject,
  );
};
