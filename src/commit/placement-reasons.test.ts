import { describe, expect, it } from 'vitest';
import { recoveryPoolLabel } from '../model/records.js';
import { kindOf } from '../objects/open-objects.fixture.js';
import {
  answer,
  done,
  labelled,
  openTestCell,
  type TestCell,
  type WorkloadOptions,
} from './test-cell.fixture.js';

interface Case {
  readonly title: string;
  /** What is asked for, of a node n1 with 8 cores, 16Gi and two GPUs in eu/a. */
  readonly asks?: object;
  readonly options?: WorkloadOptions;
  readonly tenant?: object;
  readonly prepare?: (cell: TestCell) => Promise<unknown>;
  readonly proposal?: { readonly devices?: Record<string, string[]> };
  readonly answer: string;
}

const onNode = (spec: object) => (cell: TestCell) => cell.set('Node', 'n1', spec);

/** Replicas of another workload of the same tenant, bound before. */
const others =
  (asks: object, options: WorkloadOptions = {}, more: object = {}) =>
  async (cell: TestCell) => {
    const replica = await cell.incarnate(await cell.workload('shop', 'other', asks, options));
    done(await cell.bind(replica, 'n1', more));
  };

const label = (cell: TestCell, labels: Record<string, string>) =>
  cell.objects.modify(kindOf('Node'), { kind: 'Node', namespace: undefined, name: 'n1' }, 'spec', (live) => ({
    ...live,
    metadata: { ...live.metadata, labels },
  }));

const cases: readonly Case[] = [
  { title: 'what fits and is allowed', asks: { cpu: '8' }, answer: 'Committed' },
  {
    title: 'a Daemon’s replica of the slot of another node',
    options: { type: 'Daemon', replicas: undefined },
    answer: 'SelectorMismatch: slot 0 of Daemon web is for the node of that name, not for n1',
  },
  {
    title: 'more cores than are left',
    asks: { cpu: '6' },
    prepare: others({ cpu: '4' }),
    answer: 'NodeFull: node n1 has not enough cpu left: 6 asked for, 4 free',
  },
  {
    title: 'more memory than there is',
    asks: { memory: '17Gi' },
    answer: 'NodeFull: node n1 has not enough memory left: 17Gi asked for, 16Gi free',
  },
  {
    title: 'a class of devices that it has none of',
    asks: { devices: { fpga: 1 } },
    answer: 'NodeFull: node n1 has not enough fpga left: 1 asked for, 0 free',
  },
  {
    title: 'a class of devices with the name of a property that every object has',
    asks: { devices: { constructor: 1 } },
    answer: 'NodeFull: node n1 has not enough constructor left: 1 asked for, 0 free',
  },
  {
    title: 'a device that is claimed',
    asks: { devices: { gpu: 1 } },
    prepare: others({ devices: { gpu: 1 } }, {}, { devices: { gpu: ['GPU-2'] } }),
    proposal: { devices: { gpu: ['GPU-2'] } },
    answer: 'DeviceTaken: device GPU-2 is claimed by ',
  },
  {
    title: 'a device that it does not have',
    asks: { devices: { gpu: 1 } },
    proposal: { devices: { gpu: ['GPU-9'] } },
    answer: 'DeviceTaken: device GPU-9 is claimed by nobody, and not on this node',
  },
  {
    title: 'more devices by name than are asked for',
    asks: { devices: { gpu: 1 } },
    proposal: { devices: { gpu: ['GPU-1', 'GPU-2'] } },
    answer: 'DeviceTaken: 1 devices of class gpu are asked for, not those named: GPU-1, GPU-2',
  },
  {
    title: 'the same device twice',
    asks: { devices: { gpu: 2 } },
    proposal: { devices: { gpu: ['GPU-1', 'GPU-1'] } },
    answer: 'DeviceTaken: 2 devices of class gpu are asked for, not those named: GPU-1, GPU-1',
  },
  {
    title: 'a port that is claimed',
    asks: { ports: ['http:8080'] },
    prepare: others({ ports: ['web:8080'] }),
    answer: 'PortTaken: port 8080 is claimed by ',
  },
  {
    title: 'more than the limit of the tenant',
    asks: { cpu: '3' },
    tenant: { limit: { cpu: '2' } },
    answer: 'QuotaExceeded: tenant shop uses 0 of the 2 cpu that its limit allows, and 3 more would be used',
  },
  {
    title: 'one replica more than the limit',
    tenant: { limit: { replicas: 0 } },
    answer:
      'QuotaExceeded: tenant shop uses 0 of the 0 replicas that its limit allows, and 1 more would be used',
  },
  {
    title: 'a device of a class that the limit forbids since it was changed',
    asks: { devices: { gpu: 1 } },
    tenant: { limit: { devices: { fpga: 1 } } },
    prepare: async (cell) => {
      await cell.set('Tenant', 'shop', { limit: { devices: { fpga: 1, gpu: 0 } } });
      done(await cell.grant('shop'));
    },
    answer: 'QuotaExceeded: tenant shop uses 0 of the 0 gpu that its limit allows, and 1 more would be used',
  },
  {
    title: 'a region that is not among those allowed',
    options: { placement: { regions: ['us'] } },
    answer: 'RegionNotAllowed: node n1 is in region eu; allowed: us',
  },
  {
    title: 'a zone that is not among those allowed',
    options: { placement: { zones: ['b', 'c'] } },
    answer: 'ZoneNotAllowed: node n1 is in zone a; allowed: b, c',
  },
  {
    title: 'a region under a law that the tenant must not be under',
    tenant: { residency: ['CH'] },
    answer: 'ResidencyNotAllowed: region eu is under EU; tenant shop must stay in CH',
  },
  {
    title: 'a node that is set apart for others',
    prepare: onNode({ tenants: ['bank', 'law'] }),
    answer: 'TenancyNotAllowed: node n1 is for bank, law, not for shop',
  },
  {
    title: 'a node without the label asked for',
    options: { placement: { nodeSelector: { pool: 'gpu' } } },
    answer: 'SelectorMismatch: node n1 has pool=(none), not gpu',
  },
  {
    title: 'a taint that is not tolerated',
    prepare: onNode({ taints: [{ key: 'old', value: 'yes', effect: 'NoSchedule' }] }),
    answer: 'Tainted: node n1 has the taint old=yes:NoSchedule',
  },
  {
    title: 'a taint that is tolerated',
    options: { placement: { tolerations: [{ key: 'old', operator: 'Exists' }] } },
    prepare: onNode({ taints: [{ key: 'old', value: 'yes', effect: 'NoSchedule' }] }),
    answer: 'Committed',
  },
  {
    title: 'an unschedulable node',
    prepare: onNode({ unschedulable: true }),
    answer: 'Tainted: node n1 is unschedulable',
  },
  {
    title: 'a node that drains',
    prepare: onNode({ drain: { reason: 'disk' } }),
    answer: 'Tainted: node n1 is draining',
  },
  {
    title: 'a node that is being deleted',
    prepare: async (cell) => {
      const key = { kind: 'Node', namespace: undefined, name: 'n1' };
      await cell.objects.modify(kindOf('Node'), key, 'spec', (live) => ({
        ...live,
        metadata: { ...live.metadata, finalizers: ['example.com/wait'] },
      }));
      await cell.objects.delete(kindOf('Node'), key);
    },
    answer: 'Tainted: node n1 is being deleted',
  },
  {
    title: 'another replica of its own that it keeps apart from',
    options: { placement: { antiAffinity: [{ topology: 'Node' }] } },
    prepare: async (cell) => done(await cell.bind(await cell.incarnate(await own(cell), '9'), 'n1')),
    answer: 'AntiAffinity: node n1 has replicas of web, to be kept apart from',
  },
  {
    title: 'replicas of another that it keeps apart from',
    options: {
      placement: { antiAffinity: [{ topology: 'Node', selector: { matchLabels: { app: 'db' } } }] },
    },
    prepare: others({}, labelled('db')),
    answer: 'AntiAffinity: node n1 has replicas of other, to be kept apart from',
  },
  {
    title: 'replicas of another that keep apart from it',
    options: labelled('web'),
    prepare: others(
      {},
      { placement: { antiAffinity: [{ topology: 'Node', selector: { matchLabels: { app: 'web' } } }] } },
    ),
    answer: 'AntiAffinity: node n1 has replicas of other, to be kept apart from',
  },
  {
    title: 'a zone that has a replica of its own, to be kept apart by zones',
    options: { placement: { antiAffinity: [{ topology: 'Zone' }] } },
    prepare: async (cell) => done(await cell.bind(await cell.incarnate(await own(cell), '9'), 'n2')),
    answer: 'AntiAffinity: zone eu/a has replicas of web already',
  },
  {
    title: 'a second one in the zone while another zone has none',
    options: { placement: { spread: [{ topology: 'Zone' }] } },
    prepare: async (cell) => done(await cell.bind(await cell.incarnate(await own(cell), '9'), 'n2')),
    answer: 'SpreadViolated: eu/a would have 2 replicas of web and another 0; at most 1 more',
  },
  {
    title: 'a second one in the region while another region has none',
    options: { placement: { regions: ['eu', 'us'], spread: [{ topology: 'Region' }] } },
    prepare: async (cell) => done(await cell.bind(await cell.incarnate(await own(cell), '9'), 'n2')),
    answer: 'SpreadViolated: eu would have 2 replicas of web and another 0; at most 1 more',
  },
  {
    title: 'more on one node than may be',
    options: { placement: { spread: [{ topology: 'Node', maxSkew: 1 }] } },
    prepare: async (cell) => done(await cell.bind(await cell.incarnate(await own(cell), '9'), 'n1')),
    answer: 'SpreadViolated: node n1 has 1 replicas of web; at most 1 per node',
  },
  {
    title: 'a node that the detector suspects',
    prepare: (cell) =>
      cell.authority.gate({
        actor: cell.actors.detector,
        node: 'n1',
        nodeEpoch: { cell: 1, number: 1 },
        reachability: 'Suspect',
        reason: 'late for 9 s',
        operation: 'gate',
      }),
    answer: 'GateClosed: node n1 takes nothing new: late for 9 s',
  },
  {
    title: 'a node that cannot keep a fence, for work that relies on it',
    options: { template: { execution: 'AtMostOne' } },
    prepare: (cell) => cell.node('n1', { agent: { fencing: 'Unsupported' } }),
    answer: 'FenceUnsupported: node n1 cannot keep the fence that web relies on',
  },
  {
    title: 'a node that cannot keep a fence, for work that does not rely on it',
    options: { template: { execution: 'AtMostOne' }, onNodeLost: { action: 'Wait' } },
    prepare: (cell) => cell.node('n1', { agent: { fencing: 'Unsupported' } }),
    answer: 'Committed',
  },
  {
    title: 'a node that is kept for recovery',
    prepare: (cell) => label(cell, { [recoveryPoolLabel]: 'true' }),
    answer: 'PoolReserved: node n1 is kept for recovery; class default may not use it',
  },
];

/** The workload that each case is about. */
const own = async (cell: TestCell) => {
  const found = cell.cache.get({ kind: 'Workload', namespace: 'shop', name: 'web' })?.object;
  if (found === undefined) throw new Error('there is no web yet');
  return found;
};

describe('[S4] what bind and reserve say of a placement that may not be', () => {
  it.each(cases)(
    '$title: $answer',
    async ({ asks, options, tenant, prepare, proposal, answer: expected }) => {
      const cell = await openTestCell();
      await cell.create('Region', undefined, 'eu', { jurisdiction: 'EU', zones: ['a', 'b'] });
      await cell.create('Region', undefined, 'us', { jurisdiction: 'US', zones: ['x'] });
      await cell.tenant('shop', tenant);
      const gpus = { devices: { gpu: ['GPU-1', 'GPU-2'] } };
      await cell.node('n1', { region: 'eu', zone: 'a', ...gpus });
      await cell.node('n2', { region: 'eu', zone: 'a', ...gpus });
      const web = await cell.workload('shop', 'web', asks, options);
      const replica = await cell.incarnate(web);
      await prepare?.(cell);
      const reserved = await cell.reserve(replica, 'n1', proposal);
      expect(answer(reserved).slice(0, expected.length)).toBe(expected);
      if (expected !== 'Committed')
        expect(answer(await cell.bind(replica, 'n1', proposal)).slice(0, expected.length)).toBe(expected);
    },
  );

  it('nothing is granted, or the grant has expired: GrantExhausted', async () => {
    const cell = await openTestCell();
    await cell.create('Tenant', undefined, 'shop', {});
    await cell.node('n1');
    const replica = await cell.incarnate(await cell.workload('shop', 'web'));
    expect(answer(await cell.bind(replica, 'n1'))).toBe(
      'GrantExhausted: nothing is granted yet for tenant shop in this cell',
    );
    done(await cell.grant('shop'));
    const put = async (grant: object) => {
      const account = await cell.record<{ grant: object }>('/a/tenant/shop');
      const value = Buffer.from(JSON.stringify({ ...account, grant: { ...account.grant, ...grant } }));
      await cell.store.transact({ guards: [], writes: [{ kind: 'put', key: '/a/tenant/shop', value }] });
    };
    await put({ isExpired: true });
    expect(answer(await cell.bind(replica, 'n1'))).toBe(
      'GrantExhausted: the grant for tenant shop in this cell has expired',
    );
    await put({ isExpired: false, source: 'Part', most: { replicas: 0 } });
    expect(answer(await cell.bind(replica, 'n1'))).toBe(
      'GrantExhausted: tenant shop uses 0 of the 0 replicas that it is granted in this cell, and 1 more would be used',
    );
    done(await cell.grant('shop'));
    done(await cell.bind(replica, 'n1'));
  });

  it('what is no longer allowed does not hold up the spread of the rest', async () => {
    const cell = await openTestCell();
    await cell.create('Region', undefined, 'eu', { jurisdiction: 'EU', zones: ['a', 'b'] });
    await cell.tenant('shop');
    await cell.node('n1', { region: 'eu', zone: 'a' });
    await cell.node('n2', { region: 'eu', zone: 'b' });
    const web = await cell.workload('shop', 'web', {}, { placement: { spread: [{ topology: 'Zone' }] } });
    done(await cell.bind(await cell.incarnate(web, '0'), 'n1'));
    await cell.create('WorkloadRevision', 'shop', 'web-r2', {
      workload: 'web',
      revision: 2,
      template: (web.spec as { template: object }).template,
      placement: { zones: ['b'], spread: [{ topology: 'Zone' }] },
    });
    for (const slot of ['1', '2', '3'])
      done(await cell.bind(await cell.incarnate(web, slot, 1, { revision: 'web-r2' }), 'n2'));
  });

  it('a recovery pool takes the classes that may use it, and the ports it picks are free ones', async () => {
    const cell = await openTestCell();
    await cell.create('PriorityClass', undefined, 'rescue', { value: 5, recoveryPools: true });
    await cell.tenant('shop');
    await cell.node('n1', { labels: { [recoveryPoolLabel]: 'true' } });
    const asks = { ports: ['http', 'fixed:20000', 'admin'] };
    const web = await cell.workload('shop', 'web', asks, { priorityClassName: 'rescue' });
    const replica = await cell.incarnate(web);
    done(await cell.bind(replica, 'n1'));
    expect((await cell.status(replica)).ports).toEqual({ http: 20_001, fixed: 20_000, admin: 20_002 });
  });
});
