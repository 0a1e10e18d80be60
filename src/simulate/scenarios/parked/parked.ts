import assert from 'node:assert';
import type { Reason } from '../../../model/reasons.js';
import type { ParkReason } from '../../../propose/queue/cures.js';
import type { Scenario } from '../../scenario.js';
import { startAgent } from '../../world/agent.js';
import { liveReplicasOf, shownReplicas, unlessSo } from '../../world/cell-facts.js';
import { noFaults } from '../../world/fault-plan.js';
import { startServer } from '../../world/start-server.js';
import { startUser } from '../../world/user.js';
import type { World } from '../../world/world.js';
import { ParkedCell } from './parked-cell.js';
import { type Row, type Timing, timings } from './parked-row.js';

/** A row, what its replica tells, and under what it is parked. */
export interface PlacedRow {
  readonly tells: Reason;
  readonly under: readonly ParkReason[];
  readonly row: Row;
}

const usualMs = 30_000;
/** By then what a start brings about is over: nothing that is left of it wakes anybody. */
const startedMs = 8_000;

/** Runs one row with one timing. The seed says which: consecutive seeds go through all rows, and then through all timings. */
export function parkedScenario(name: string, about: string, rows: readonly PlacedRow[]): Scenario {
  return {
    name,
    about,
    chaosMs: Math.max(...rows.map(({ row }) => row.lastsMs ?? usualMs)),
    settleMs: 120_000,
    plan: () => noFaults,
    seedsWhole: rows.length,
    begin: (world) => {
      const { seed } = world.options;
      const [pass, index] = [Math.floor(seed / rows.length), seed % rows.length];
      const placed = rows[index];
      assert(placed !== undefined, `${name} has no rows`);
      // Every row has every timing after four passes, and each pass has all of them.
      const those = placed.row.timings ?? timings;
      return beginRow(world, placed, those[(index + pass) % those.length] ?? 'Parked');
    },
    mustCheck: ['L1', 'L2', 'L6'],
    mustOccur: [],
  };
}

function beginRow(world: World, { tells, under, row }: PlacedRow, timing: Timing): () => readonly string[] {
  world.scheduling = {
    ...world.scheduling,
    shards: 1,
    sweepEveryMs: Number.POSITIVE_INFINITY,
    ...row.scheduling,
  };
  world.promptBinding.promiseFrom(0);
  const controls = startServer(world, 'server-0', { detects: row.detects === true });
  const schedules = startServer(world, 'server-1', { schedules: true, startsFromMs: 1_000 });
  for (const shape of row.nodes) startAgent(world, [controls], shape, { isCareless: false, exits: 0 });
  const user = startUser(world, row.wishes, false);
  const cell = new ParkedCell(world, { server: controls, scheduler: schedules, user });
  const { random } = world.wire;
  row.begin?.(cell);
  const isThere = (): boolean =>
    world.time.nowMs >= startedMs &&
    row.wishes.every(
      ({ kind, metadata }) =>
        world.history.get(`/o/${kind}/${metadata.namespace ?? '_'}/${metadata.name}`) !== undefined,
    ) &&
    row.nodes.every((shape) => world.history.get(`/a/node/${shape.name}`) !== undefined) &&
    Object.entries(row.up ?? {}).every(([workload, count]) => cell.areUp(workload, count));
  let parkedUnder: readonly ParkReason[] = [];
  let parkedMs = Number.POSITIVE_INFINITY;
  const act = (): void => row.act(cell);
  const isTold = (): boolean =>
    cell
      .replicas('waits')
      .some(({ status }) =>
        status?.conditions?.some(({ type, reason }) => type === 'SchedulingRetrying' && reason === tells),
      );
  const whenParked = (then: () => void): void =>
    cell.when(
      () => isTold() && (under.length === 0 || cell.parkedUnder().length > 0),
      () => {
        parkedUnder = cell.parkedUnder();
        parkedMs = world.time.nowMs;
        then();
      },
    );
  const cure = {
    Parked: () => whenParked(() => world.wire.after(100 + random.integer(2_500), act)),
    Attempt: () =>
      cell.when(
        () => cell.replicas('waits').some(({ status }) => status?.stage === 'Queued'),
        () => {
          parkedMs = world.time.nowMs;
          world.wire.after(random.integer(90), act);
        },
      ),
    Cut: () => whenParked(() => unheard(false)),
    Gap: () => whenParked(() => unheard(true)),
  };
  const unheard = (isForgotten: boolean): void => {
    const resume = world.holdWatches(schedules);
    world.wire.after(100, act);
    const forMs = 500 + random.integer(6_000);
    world.wire.after(forMs, () => void resume(isForgotten));
  };
  cell.when(isThere, () => {
    const isPrepared = row.prepare?.(cell) ?? (() => true);
    cell.when(isPrepared, () => {
      cell.create(row.waits);
      row.park?.(cell);
      cure[timing]();
    });
  });
  return () => {
    const live = liveReplicasOf(world, 'waits');
    const where = `${tells}, and ${row.cure} (${timing})`;
    const expected = under.toSorted();
    const judged = world.promptBinding.served.filter(
      ({ replica, fitMs, waitedMs }) => replica.includes('/waits-') && fitMs + waitedMs >= parkedMs,
    );
    return unlessSo(
      [
        timing === 'Attempt' || parkedUnder.toSorted().join() === expected.join(),
        `${where}: it was parked under ${parkedUnder.join(', ') || 'nothing'}, not under ${expected.join(', ')}`,
      ],
      [
        live.length > 0 &&
          live.filter(({ status }) => status?.binding === undefined).length === (row.isGone === true ? 1 : 0),
        `${where}: it is not bound: ${shownReplicas(live)}`,
      ],
      [judged.length > 0, `${where}: it was never found to fit`],
    );
  };
}
