import { describe, expect, it } from 'vitest';
import { answer } from '../commit/test-cell.fixture.js';
import { amountOf, amountsOf } from '../model/amount.js';
import type { Cure } from '../model/explanation.js';
import type { Replica } from '../model/kinds/replica.js';
import type { WorkloadRevision } from '../model/kinds/workload-revision.js';
import { mergePatched } from '../model/merge-patch.js';
import type { Amounts } from '../model/parts/amounts.js';
import type { Placement as PlacementRules } from '../model/parts/placement.js';
import { builtinPolicy } from '../model/policy.js';
import { CachedRecords } from '../objects/cached-records.js';
import { CellState } from '../propose/cell-state.js';
import type { PendingReplica } from '../propose/contract.js';
import { asIfCured } from '../propose/explain/cures/cure-records.js';
import { PlacementExplainer } from '../propose/explain/placement-explainer.js';
import { propose } from '../propose/propose.js';
import { curableCell, type CurableCell, patchObject, registered } from './curable-cell.fixture.js';

const cells = 500;
const boundEvery = 10;
const ages = (): undefined => undefined;

/** The whole cell as the scheduler would see it. */
function pictureOf({ cell: { cache } }: CurableCell): CellState {
  const cell = new CellState();
  cell.version = String(cache.version);
  for (const [key, value] of new CachedRecords(cache).entries('/')) cell.apply(key, value);
  return cell;
}

const pendingOf = ({ metadata, spec }: Replica): PendingReplica => ({
  ...{ tenant: metadata.namespace ?? '', name: metadata.name, uid: metadata.uid, sinceMs: 0 },
  ...{ classKey: `${metadata.namespace}/${spec.revision}`, workload: spec.workload, slot: spec.slot },
});

/** Where the core would place the replica; the cell is left as it was. */
function placedOn(cell: CellState, replica: Replica): string | undefined {
  const pending = pendingOf(replica);
  const { placements } = propose(
    cell,
    { classKey: pending.classKey, replicas: [pending] },
    { policy: builtinPolicy, seed: 1, ages },
  );
  for (const placement of placements) cell.unassume(placement.replica);
  return placements[0]?.node;
}

/** Amounts with one unit less of one resource, for each that they name. */
function* smallerAmounts(amounts: Amounts & { readonly replicas?: number }): Generator<Amounts> {
  const amount = amountOf(amounts);
  if (amount.cpuMilli) yield { ...amounts, cpu: `${amount.cpuMilli - 1}m` };
  if (amount.memoryBytes) yield { ...amounts, memory: String(amount.memoryBytes - 1) };
  if (amount.replicas) yield { ...amounts, replicas: amount.replicas - 1 } as Amounts;
  for (const [device, count] of Object.entries(amount.devices ?? {}))
    yield { ...amounts, devices: { ...amount.devices, [device]: count - 1 } };
}

interface Patch {
  readonly metadata?: { readonly labels?: Readonly<Record<string, string | null>> };
  readonly spec?: Readonly<Record<string, unknown>> & {
    readonly limit?: Amounts;
    readonly placement?: Readonly<Record<string, unknown>>;
  };
}

/** Every change that is one step less: one unit less, one part left out. */
function* smallerCures(
  cure: Cure,
  { spread: spreadBefore = [], antiAffinity: apartBefore = [] }: PlacementRules,
): Generator<Cure> {
  const { change } = cure;
  if (change.type !== 'Patch') {
    for (const allocatable of smallerAmounts(change.allocatable))
      yield { ...cure, change: { ...change, allocatable } };
    return;
  }
  const patch = change.patch as Patch;
  const patched = (smaller: Patch): Cure => ({ ...cure, change: { type: 'Patch', patch: { ...smaller } } });
  const without = (fields: Readonly<Record<string, unknown>>, name: string): Record<string, unknown> => {
    const { [name]: _, ...rest } = fields;
    return rest;
  };
  const { limit, placement } = patch.spec ?? {};
  for (const less of limit === undefined ? [] : smallerAmounts(limit))
    yield patched({ ...patch, spec: { ...patch.spec, limit: less } });
  for (const label of Object.keys(patch.metadata?.labels ?? {}))
    yield patched({
      ...patch,
      metadata: { labels: without(patch.metadata?.labels ?? {}, label) as Record<string, string | null> },
    });
  for (const name of Object.keys(patch.spec ?? {}))
    if (name !== 'limit' && name !== 'placement')
      yield patched({ ...patch, spec: without(patch.spec ?? {}, name) });
  for (const [name, value] of Object.entries(placement ?? {})) {
    const smaller = (rest: object): Cure =>
      patched({
        ...patch,
        spec: { ...patch.spec, placement: { ...without(placement ?? {}, name), ...rest } },
      });
    if (name === 'antiAffinity') {
      for (const [index, rule] of (value as { mode?: string }[]).entries())
        if (rule.mode !== apartBefore[index]?.mode)
          yield smaller({ antiAffinity: (value as object[]).with(index, apartBefore[index] ?? rule) });
    } else if (name !== 'spread') yield smaller({});
    else
      for (const [index, rule] of (value as { maxSkew?: number }[]).entries())
        if ((rule.maxSkew ?? 1) > (spreadBefore[index]?.maxSkew ?? 1))
          yield smaller({
            spread: (value as object[]).with(index, { ...rule, maxSkew: (rule.maxSkew ?? 1) - 1 }),
          });
  }
}

/** Applies a cure to the real cell, as those would whom it is for; gives the replica that then waits. */
async function applied(made: CurableCell, cure: Cure): Promise<Replica> {
  const { cell, replica, workload, offers } = made;
  const { change, kind, name } = cure;
  if (change.type === 'Create') {
    const { cpu = 0, memory = 0, devices = {} } = change.allocatable;
    const offer = registered({ cpu: String(cpu), memory: String(memory), gpus: devices['gpu'] ?? 0 });
    await cell.node(name, { region: change.region, zone: change.zone, labels: change.labels, ...offer });
    return replica;
  }
  if (change.type === 'Register') {
    const before = offers.get(name) ?? { cpu: '0', memory: '0', gpus: 0 };
    const { cpu = before.cpu, memory = before.memory, devices } = change.allocatable;
    const gpus = devices?.['gpu'] ?? before.gpus;
    await cell.node(name, registered({ cpu: String(cpu), memory: String(memory), gpus }));
    return replica;
  }
  if (kind !== 'Workload') {
    await patchObject(cell, kind, name, change.patch);
    if (kind === 'Tenant') await cell.grant(name);
    return replica;
  }
  const key = { kind: 'WorkloadRevision', namespace: 'bank', name: replica.spec.revision };
  const before = cell.cache.get(key)?.object as WorkloadRevision;
  const { spec } = mergePatched(before, change.patch) as WorkloadRevision;
  await cell.create('WorkloadRevision', 'bank', 'work-r10', { ...spec, revision: 10 });
  expect(answer(await cell.release(replica, { kind: 'NeverBound' }, 'workload-controller'))).toBe(
    'Committed',
  );
  return cell.incarnate(workload, 'last', 2, { revision: 'work-r10' });
}

describe('cures', () => {
  it(`let the replica be placed, and one unit less does not: ${cells} generated cells`, async () => {
    const counts: Record<string, number> = { cells: 0, placeable: 0, incurable: 0, bound: 0, smaller: 0 };
    const count = (what: string): void => void (counts[what] = (counts[what] ?? 0) + 1);
    for (let seed = 0; seed < cells; seed += 1) {
      const made = await curableCell(seed);
      const { cell, replica } = made;
      const explainer = new PlacementExplainer({
        records: new CachedRecords(cell.cache),
        env: cell.env,
        ages,
      });
      const facts = await explainer.factsOf(replica);
      const picture = pictureOf(made);
      const { classKey } = pendingOf(replica);
      const cures = facts?.cures ?? [];
      const where = (cure: Cure): string => `seed ${seed}: ${JSON.stringify(cure)}`;
      count('cells');
      expect(placedOn(picture, replica) !== undefined, `seed ${seed}`).toBe(facts?.isPlaceable);
      if (facts?.isPlaceable === true) {
        count('placeable');
        expect(cures).toEqual([]);
      } else if (cures.length === 0) count('incurable');
      const rulesBefore = picture.revision(classKey)?.spec.placement ?? {};
      for (const cure of cures) {
        count(`${cure.kind} ${cure.change.type}`);
        if (cure.words.includes('keep apart')) count('apart');
        if (cure.words.includes('any port')) count('ports');
        const node = asIfCured(picture, classKey, cure, () => placedOn(picture, replica));
        expect(node, where(cure)).toBeDefined();
        for (const smaller of smallerCures(cure, rulesBefore)) {
          count('smaller');
          const still = asIfCured(picture, classKey, smaller, () => placedOn(picture, replica));
          expect(still, where(smaller)).toBeUndefined();
        }
      }
      expect(placedOn(picture, replica) !== undefined, `seed ${seed}: the picture is as before`).toBe(
        facts?.isPlaceable,
      );
      const [cure] = cures.slice((seed / boundEvery) % Math.max(1, cures.length));
      if (seed % boundEvery === 0 && cure !== undefined) {
        for (const node of made.nodes)
          expect(answer(await cell.bind(replica, node)), where(cure)).not.toBe('Committed');
        const cured = await applied(made, cure);
        const node = placedOn(pictureOf(made), cured);
        expect(node, where(cure)).toBeDefined();
        expect(answer(await cell.bind(cured, node ?? '')), where(cure)).toBe('Committed');
        count('bound');
      }
      await cell.cache.close();
    }
    // A check that never had anything to check proves nothing.
    expect(Object.keys(counts).toSorted()).toEqual([
      'Node Create',
      'Node Patch',
      'Node Register',
      'PriorityClass Patch',
      'Tenant Patch',
      'Workload Patch',
      'apart',
      'bound',
      'cells',
      'incurable',
      'placeable',
      'ports',
      'smaller',
    ]);
  }, 300_000);

  it('are shown with exact amounts', () => {
    expect([...smallerAmounts(amountsOf({ cpuMilli: 1_000, memoryBytes: 1_024 }))]).toEqual([
      { cpu: '999m', memory: '1Ki' },
      { cpu: '1', memory: '1023' },
    ]);
  });
});
