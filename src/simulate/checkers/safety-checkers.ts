import { AgentTimes } from './agent-times.js';
import { Accounts } from './accounts.js';
import type { SafetyChecker } from './checker.js';
import { Drains } from './drains.js';
import { Epochs } from './epochs.js';
import { ExpiredPermits } from './expired-permits.js';
import { ExclusiveOwners } from './exclusive-owners.js';
import { NodeCapacity } from './node-capacity.js';
import { OwnedWrites, type WriterRule } from './owned-writes.js';
import { PlacementRules } from './placement-rules.js';
import { ReservedCapacity } from './reserved-capacity.js';
import { Silence } from './silence.js';
import { SingleBinding } from './single-binding.js';
import { Attestations } from './attestations.js';
import { BackoffTimes } from './backoff-times.js';
import { BrakeTimes } from './brake-times.js';
import { FenceWindow } from './fence-window.js';
import { HoldTimes } from './hold-times.js';
import { RepairTimes } from './repair-times.js';
import { TrafficTimes } from './traffic-times.js';
import { LeaseTakeovers } from './lease-takeovers.js';
import { Slots } from './slots.js';
import { TenantGrants } from './tenant-grants.js';
import { Traffic } from './traffic.js';
import { VoluntaryMoves } from './voluntary-moves.js';

/**
 * The checkers of one run. The world tells executions to `bindings` and `permits`, permits to `permits`, stops to `traffic` and
 * `agents`, and who waits for leases to `takeovers`. S11 is a WatchWitness per watched prefix.
 */
export function safetyCheckers(writers?: readonly WriterRule[]): {
  readonly bindings: SingleBinding;
  readonly permits: ExpiredPermits;
  readonly agents: AgentTimes;
  readonly takeovers: LeaseTakeovers;
  readonly traffic: Traffic;
  readonly all: readonly SafetyChecker[];
  /** The checkers in `all` that judge how long something has lasted. */
  readonly ofDurations: readonly SafetyChecker[];
} {
  const bindings = new SingleBinding();
  const permits = new ExpiredPermits();
  const agents = new AgentTimes();
  const takeovers = new LeaseTakeovers();
  const traffic = new Traffic();
  const ofDurations = [
    ...[new Silence(), permits, takeovers, agents, new Attestations(), new BackoffTimes(), new BrakeTimes()],
    ...[new FenceWindow(), new HoldTimes(), new RepairTimes(), new TrafficTimes()],
  ];
  const all = [
    new ExclusiveOwners(),
    new NodeCapacity(),
    new TenantGrants(),
    new PlacementRules(),
    bindings,
    new OwnedWrites(writers),
    new Accounts(),
    new Epochs(),
    new ReservedCapacity(),
    new Slots(),
    traffic,
    new Drains(),
    new VoluntaryMoves(),
    ...ofDurations,
  ];
  return { bindings, permits, agents, takeovers, traffic, all, ofDurations };
}
