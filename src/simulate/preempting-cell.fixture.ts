import { type CellOptions, done, openTestCell, refOf, type TestCell } from '../commit/test-cell.fixture.js';
import type { Replica } from '../model/kinds/replica.js';
import { CachedRecords } from '../objects/cached-records.js';
import { CellPreemption } from '../propose/cell-preemption.js';
import { CellState } from '../propose/cell-state.js';
import type { PendingReplica, PreemptionPlan } from '../propose/contract.js';
import { PreemptionPlanner, type PreemptionResult } from '../propose/preemption.js';

/** A real authority, and a picture of its cell that planners look at, kept current as a scheduler's is. */
export async function openPreemptingCell(options: CellOptions = {}) {
  const cell: TestCell = await openTestCell(options);
  const picture = new CellState();
  const records = new CachedRecords(cell.cache);
  for (const [key, value] of records.entries('/')) picture.apply(key, value);
  records.follow((key, value) => picture.apply(key, value), new AbortController().signal);
  const view = new CellPreemption(picture, { seed: 1, ages: () => 0 });

  const pendingOf = ({ metadata, spec }: Replica): PendingReplica => ({
    tenant: metadata.namespace ?? '',
    name: metadata.name,
    uid: metadata.uid,
    classKey: `${metadata.namespace}/${spec.revision}`,
    workload: spec.workload,
    slot: spec.slot,
    ...(spec.gang !== undefined && { gang: spec.gang }),
    sinceMs: 0,
  });
  return {
    cell,
    picture,
    view,
    pendingOf,
    /** For replicas of one class. Nothing stays assumed that is not planned. */
    plan: (...replicas: Replica[]): PreemptionResult => {
      const pending = replicas.map(pendingOf);
      return new PreemptionPlanner(view).plan(pending[0]?.classKey ?? '', pending);
    },
    /** What a scheduler asks for when it carries a plan out. */
    reserve: (
      replica: Replica,
      { node, victims }: PreemptionPlan,
      intent: 'Preemption' | 'Gang' = 'Preemption',
    ) =>
      cell.reserve(replica, node, {
        intent,
        victims,
        nodeEpoch: cell.epochs.get(node) ?? { cell: 1, number: 1 },
      }),
    /** Those that are asked to leave end, as their agents say. */
    endVictims: async (byRef: ReadonlyMap<string, Replica>, { victims }: PreemptionPlan): Promise<void> => {
      for (const { uid } of victims) done(await cell.report(byRef.get(uid) as Replica, 'Released'));
    },
    bindAndStart: async (replica: Replica, node: string): Promise<void> => {
      done(await cell.bind(replica, node));
      done(await cell.report(replica, 'Starting'));
      done(await cell.report(replica, 'Ready'));
    },
    refOf,
  };
}

export type PreemptingCell = Awaited<ReturnType<typeof openPreemptingCell>>;
