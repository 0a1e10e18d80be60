import type { ParkReason } from '../../../propose/queue/cures.js';
import type { Scenario } from '../../scenario.js';
import { startAgent } from '../../world/agent.js';
import { liveReplicasOf, shownReplicas, unlessSo } from '../../world/cell-facts.js';
import { noFaults } from '../../world/fault-plan.js';
import { startServer } from '../../world/start-server.js';
import { startUser } from '../../world/user.js';
import type { World } from '../../world/world.js';
import { ParkedCell } from './parked-cell.js';
import type { Row } from './parked-row.js';

/** A row and where it stands in the table: a reason, and a change that cures it. */
export interface PlacedRow {
  readonly reason: ParkReason;
  readonly change: string;
  readonly row: Row;
}

/** When the cure comes: to a replica that is parked, while its attempt is running, or unheard. */
const timings = ['Parked', 'Attempt', 'Cut', 'Gap'] as const;
type Timing = (typeof timings)[number];

const usualMs = 40_000;
/** By then what a start brings about is over: nothing that is left of it wakes anybody. */
const startedMs = 8_000;

/** One row after the other, each with every timing: which one it is follows from the seed. */
export function parkedScenario(name: string, about: string, rows: readonly PlacedRow[]): Scenario {
  return {
    name,
    about,
    chaosMs: Math.max(...rows.map(({ row }) => row.lastsMs ?? usualMs)),
    settleMs: 120_000,
    plan: () => noFaults,
    begin: (world) => {
      const { seed } = world.options;
      const placed = rows[seed % rows.length];
      const timing = timings[Math.floor(seed / rows.length) % timings.length];
      if (placed === undefined || timing === undefined) throw new Error('there is no row');
      return beginRow(world, placed, timing);
    },
    mustCheck: ['L1', 'L2', 'L6'],
    mustOccur: [],
  };
}

function beginRow(world: World, { reason, change, row }: PlacedRow, timing: Timing): () => readonly string[] {
  world.scheduling = { ...world.scheduling, shards: 1, sweepEveryMs: Number.POSITIVE_INFINITY, ...row.scheduling };
  world.promptBinding.promiseFrom(0);
  const controls = startServer(world, 'server-0', { detects: row.detects === true });
  const schedules = startServer(world, 'server-1', { schedules: true, schedulesFromMs: 2_000 });
  for (const shape of row.nodes) startAgent(world, [controls], shape, { isCareless: false, exits: 0 });
  const user = startUser(world, row.wishes, false);
  const cell = new ParkedCell(world, controls, user);
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
        status?.conditions?.some(({ type, reason: told }) => type === 'SchedulingRetrying' && told === (row.tells ?? reason)),
      );
  const whenParked = (then: () => void): void =>
    cell.when(
      () => isTold() && cell.parkedUnder().length > 0,
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
    const where = `${reason} by ${change} (${row.cure}), ${timing}`;
    const expected = [reason, ...(row.also ?? [])].toSorted();
    const judged = world.promptBinding.served.filter(
      ({ replica, fitMs, waitedMs }) => replica.includes('/waits-') && fitMs + waitedMs >= parkedMs,
    );
    return unlessSo(
      [
        timing === 'Attempt' || parkedUnder.toSorted().join() === expected.join(),
        `${where}: it was parked under ${parkedUnder.join(', ') || 'nothing'}, not under ${expected.join(', ')}`,
      ],
      [
        live.length > 0 && live.filter(({ status }) => status?.binding === undefined).length === (row.isGone === true ? 1 : 0),
        `${where}: it is not bound: ${shownReplicas(live)}`,
      ],
      [judged.length > 0, `${where}: it was never found to fit`],
    );
  };
}
