import { describe, expect, it } from 'vitest';
import { realEnv } from '../env/real.js';
import type { ReplicaStatus } from '../model/kinds/replica.js';
import type { ReservationStatus } from '../model/kinds/reservation.js';
import type { NodeAccount, NodeEpoch, SlotRecord, TenantAccount, WorkloadAccount } from '../model/records.js';
import { Versions } from '../model/versions.js';
import { Codec } from '../objects/codec.js';
import { MemoryStore } from '../store/memory.js';
import { audit, type Audited } from './audit.js';
import { AuditRecords } from './audit-records.js';
import { auditStore } from './audit-store.js';
import { addNode, done, openAuthority, openCellOf, proposal, refOf } from './open-authority.fixture.js';

/** A cell with a replica that is bound, one that holds, and one that preempts a third. */
async function openBooks() {
  const env = realEnv();
  const opened = await openAuthority(new MemoryStore(env), env);
  const cell = await openCellOf(opened, { guaranteed: { cpu: '2' }, limit: { cpu: '100' } });
  const { authority, store } = opened;
  const epoch = await addNode(authority, 'n1', { devices: { gpu: ['g0', 'g1'] } });
  const score = await cell.addWorkload('score', { cpu: '1', devices: { gpu: 1 }, ports: ['http'] });
  const [bound, held] = [await cell.incarnate(score, '0'), await cell.incarnate(score, '1')];
  for (const outcome of await authority.bind([proposal(cell.scheduler, bound, 'n1', epoch)])) done(outcome);
  const hold = done(
    await authority.reserve({
      ...proposal(cell.scheduler, held, 'n1', epoch, 'reserve/1'),
      ...{ intent: 'Bind', deadlineSeconds: 60 },
    }),
  );
  const { entries } = await store.read({ from: '/', to: '0' });
  const values = new Map<string, { value: unknown; created: number }>(
    entries.map(({ key, value, createRevision }) => [
      key,
      { value: JSON.parse(Buffer.from(value).toString()) as unknown, created: createRevision },
    ]),
  );
  return { env, store, values, hold: hold.reservation, uid: bound.metadata.uid, ref: refOf(bound) };
}

type Books = Awaited<ReturnType<typeof openBooks>>;

const versions = new Versions(0);

function audited({ values }: Books): Audited {
  const records = new AuditRecords();
  for (const [key, { value, created }] of values)
    if (AuditRecords.isWanted(key)) records.add(key, value, created);
  return audit(records, versions);
}

const change = <T>(books: Books, key: string, by: (value: T) => unknown): void => {
  const entry = books.values.get(key);
  if (entry === undefined) throw new Error(`there is no ${key}`);
  const value = by(entry.value as T);
  if (value === undefined) books.values.delete(key);
  else books.values.set(key, { ...entry, value });
};

const node = '/a/node/n1';
const tenant = '/a/tenant/fraud';
const workload = '/a/workload/fraud/score';
const slot = '/t/fraud/score/0';
const replica = '/s/Replica/fraud/score-0-1';
const holdKey = (books: Books): string => `/s/Reservation/fraud/${books.hold}`;
const status = (by: (status: ReplicaStatus) => object) => (books: Books) =>
  change<{ status: ReplicaStatus }>(books, replica, (old) => ({ status: by(old.status) }));

const damages: readonly [string, (books: Books) => void, rule: string, key: string, found: string][] = [
  [
    'a node’s use',
    (b) => change<NodeAccount>(b, node, (old) => ({ ...old, used: {} })),
    'S7',
    node,
    'used {}',
  ],
  [
    'a claim that is gone',
    (b) => change<NodeAccount>(b, node, (old) => ({ ...old, claims: { ...old.claims, devices: {} } })),
    'S1',
    node,
    'device g0 claimed by nobody',
  ],
  [
    'a claim of nobody',
    (b) => change<NodeAccount>(b, node, (old) => ({ ...old, claims: { ...old.claims, ports: { 9: 'x' } } })),
    'S1',
    node,
    'port 9 claimed by x',
  ],
  [
    'the revisions on a node',
    (b) => change<NodeAccount>(b, node, (old) => ({ ...old, revisions: {} })),
    'S7',
    node,
    'revisions fraud/score-r1 0',
  ],
  [
    'a tenant’s use',
    (b) => change<TenantAccount>(b, tenant, (old) => ({ ...old, used: { cpuMilli: 1 } })),
    'S7',
    tenant,
    'used {"cpu":"1m"}',
  ],
  [
    'what it borrowed',
    (b) => change<TenantAccount>(b, tenant, (old) => ({ ...old, borrowed: { cpuMilli: 9_000 } })),
    'S7',
    tenant,
    'borrowed {"cpu":"9"}',
  ],
  [
    'what it lost',
    (b) => change<TenantAccount>(b, tenant, (old) => ({ ...old, lost: { replicas: 1 } })),
    'S7',
    tenant,
    'lost {"replicas":1}',
  ],
  [
    'a workload’s regions',
    (b) => change<WorkloadAccount>(b, workload, (old) => ({ ...old, regions: {} })),
    'S7',
    workload,
    'regions local 0',
  ],
  [
    'its zones',
    (b) => change<WorkloadAccount>(b, workload, (old) => ({ ...old, zones: { 'x/y': 2 } })),
    'S7',
    workload,
    'zones x/y 2',
  ],
  ['its account altogether', (b) => change(b, workload, () => undefined), 'S7', workload, 'regions local 0'],
  [
    'a slot that is disrupted and not counted',
    (b) => change<SlotRecord>(b, slot, (old) => ({ ...old, isDisrupted: true })),
    'S7',
    workload,
    'slots disrupted 0',
  ],
  [
    'a slot that names another',
    (b) => change<SlotRecord>(b, slot, (old) => ({ ...old, replicaUid: 'elsewhere' })),
    'S12',
    slot,
    'it names score-0-1 with uid elsewhere',
  ],
  ['a slot record that is gone', (b) => change(b, slot, () => undefined), 'S12', slot, 'no slot record'],
  [
    'a slot that says somebody is lost',
    (b) => change<SlotRecord>(b, slot, (old) => ({ ...old, lost: { replica: 'r', replicaUid: 'u' } })),
    'S12',
    slot,
    'it says that r is lost',
  ],
  [
    'half a replica',
    (b) => change(b, '/o/Replica/fraud/score-0-1', () => undefined),
    'S12',
    replica,
    'a status without its object',
  ],
  [
    'a fence',
    status((old) => ({ ...old, binding: { ...old.binding, fence: '1' } })),
    'S5',
    replica,
    'fence 1',
  ],
  [
    'a binding to another node than the one charged',
    status((old) => ({ ...old, binding: { ...old.binding, node: 'n2' } })),
    'S5',
    replica,
    'bound to n2, charged on n1',
  ],
  [
    'a charge that is gone',
    status((old) => {
      const { charge: _, ...rest } = old;
      return rest;
    }),
    'S7',
    replica,
    'bound to n1 and not charged',
  ],
  [
    'a hold that is over while its replica waits with it',
    (b) =>
      change<{ status: ReservationStatus }>(b, holdKey(b), (old) => ({
        status: { ...old.status, state: 'Released' },
      })),
    'S9',
    '/s/Replica/fraud/score-1-1',
    'Scheduled with hold-',
  ],
  [
    'a hold that awaits what has ended',
    (b) =>
      change<{ status: ReservationStatus }>(b, holdKey(b), (old) => ({
        status: { ...old.status, awaits: [{ replica: 'r', uid: 'u', amounts: {} }] },
      })),
    'S9',
    'hold',
    'awaits r (u), which has ended',
  ],
  [
    'an epoch that was closed and stands in the account',
    (b) => change<NodeEpoch>(b, '/e/n1', (old) => ({ ...old, state: 'Closed' })),
    'S8',
    node,
    'the account names epoch 1.1',
  ],
  [
    'two owners of one device',
    (b) =>
      change<{ status: ReservationStatus }>(b, holdKey(b), (old) => ({
        status: { ...old.status, charge: { ...old.status.charge, devices: { gpu: ['g0'] } } },
      })),
    'S1',
    replica,
    'both are charged with device g0 of node n1',
  ],
];

/** Another incarnation beside the first: the same in everything but its name and uid. */
function secondIncarnation(books: Books, of: 'Bound' | 'Releasing'): void {
  for (const part of ['o', 's']) {
    const { value, created } = books.values.get(`/${part}/Replica/fraud/score-0-1`) ?? {};
    const old = value as { metadata: object; spec: object; status: object };
    books.values.set(`/${part}/Replica/fraud/score-0-2`, {
      value:
        part === 's'
          ? { status: { ...old.status, stage: of } }
          : {
              ...old,
              metadata: { ...old.metadata, name: 'score-0-2', uid: 'second' },
              spec: { ...old.spec, incarnation: 2 },
            },
      created: created ?? 0,
    });
  }
}

describe('an audit', () => {
  it('of a cell that the authority made finds nothing wrong, and says what it looked at', async () => {
    const books = await openBooks();
    expect(audited(books)).toEqual({
      checked: { nodes: 1, tenants: 1, workloads: 1, slots: 2, replicas: 2, holds: 1 },
      differences: [],
      more: 0,
    });
    const report = await auditStore({ store: books.store, codec: new Codec(), env: books.env, versions });
    expect(report).toMatchObject({ differences: [], revision: expect.stringMatching(/^\d+$/) as string });
  });

  it.each(damages)('names %s, with rule, key and what should be', async (_, damage, rule, key, found) => {
    const books = await openBooks();
    damage(books);
    const at = key === 'hold' ? holdKey(books) : key;
    const { differences } = audited(books);
    const named = differences.filter((each) => each.rule === rule && each.keys.includes(at));
    expect(
      named.map((each) => each.found),
      JSON.stringify(differences),
    ).toContainEqual(expect.stringContaining(found));
    for (const { expected } of named) expect(expected).not.toBe('');
  });

  it('takes the fence of a binding that an earlier release made for what it is, and no other', async () => {
    const books = await openBooks();
    const key = '/s/Replica/fraud/score-0-1';
    const created = books.values.get('/o/Replica/fraud/score-0-1')?.created ?? 0;
    const withFence = (fence: number): readonly string[] => {
      change<{ status: ReplicaStatus }>(books, key, (old) => ({
        status: { ...old.status, binding: { ...old.status.binding, fence: String(fence) } as never },
      }));
      return audited(books).differences.map(({ rule, expected }) => `${rule} ${expected}`);
    };
    expect(withFence(created)).toEqual([]);
    expect(withFence(2 * created)).toEqual([]);
    expect(withFence(2 * created + 1)).toEqual([`S5 fence ${2 * created}, when it was created`]);
  });

  it('[S12] names a second incarnation that is active, and [S5] one that is bound where at most one may be', async () => {
    const books = await openBooks();
    secondIncarnation(books, 'Bound');
    const rules = (): readonly string[] =>
      audited(books).differences.map(({ rule, found }) => `${rule} ${found}`);
    expect(rules()).toContain('S12 active at once: score-0-1 (Bound), score-0-2 (Bound)');
    expect(rules().join()).not.toContain('S5 bound:');
    change<{ spec: { template: object } }>(books, '/o/WorkloadRevision/fraud/score-r1', (old) => ({
      ...old,
      spec: { ...old.spec, template: { ...old.spec.template, execution: 'AtMostOne' } },
    }));
    expect(rules()).toContain('S5 bound: score-0-1 (Bound), score-0-2 (Bound)');
    secondIncarnation(books, 'Releasing');
    expect(rules()).toContain('S12 score-0-2 (Releasing) beside it');
  });

  it('is bounded: past a thousand differences it says how many more there are', async () => {
    const books = await openBooks();
    for (let n = 0; n < 1_200; n++)
      books.values.set(`/t/fraud/gone/${n}`, {
        value: { incarnation: 1, replica: `gone-${n}-1`, replicaUid: 'u', operation: 'o' },
        created: 1,
      });
    const { differences, more } = audited(books);
    expect([differences.length, more]).toEqual([1_000, 200]);
  });
});
