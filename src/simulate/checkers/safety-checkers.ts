import { Accounts } from './accounts.js';
import type { SafetyChecker } from './checker.js';
import { Drains } from './drains.js';
import { Epochs } from './epochs.js';
import { ExclusiveOwners } from './exclusive-owners.js';
import { NodeCapacity } from './node-capacity.js';
import { OwnedWrites, type WriterRule } from './owned-writes.js';
import { PlacementRules } from './placement-rules.js';
import { ReservedCapacity } from './reserved-capacity.js';
import { Silence } from './silence.js';
import { SingleBinding } from './single-binding.js';
import { Slots } from './slots.js';
import { TenantGrants } from './tenant-grants.js';
import { Traffic } from './traffic.js';
import { VoluntaryMoves } from './voluntary-moves.js';

/** The checkers of one run; the world tells executions to `bindings` and stops to `traffic`. S11 is a WatchWitness per watched prefix. */
export function safetyCheckers(writers?: readonly WriterRule[]): {
  readonly bindings: SingleBinding;
  readonly traffic: Traffic;
  readonly all: readonly SafetyChecker[];
} {
  const bindings = new SingleBinding();
  const traffic = new Traffic();
  const all = [
    new ExclusiveOwners(),
    new NodeCapacity(),
    new TenantGrants(),
    new PlacementRules(),
    bindings,
    new Silence(),
    new OwnedWrites(writers),
    new Accounts(),
    new Epochs(),
    new ReservedCapacity(),
    new Slots(),
    traffic,
    new Drains(),
    new VoluntaryMoves(),
  ];
  return { bindings, traffic, all };
}
