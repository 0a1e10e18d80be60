import type { Mutant } from './mutant.js';
import type { Scenario } from './scenario.js';
import { durations } from './scenarios/durations.js';
import { fenceChange } from './scenarios/fence-change.js';
import { fenceEdge } from './scenarios/fence-edge.js';
import { lostDirectory } from './scenarios/lost-directory.js';
import { lostNodes } from './scenarios/lost-nodes.js';
import { newLeader } from './scenarios/new-leader.js';
import { orphanReservationScenarios } from './scenarios/orphan-reservation.js';
import { zoneLost } from './scenarios/zone-lost.js';

/** A duration that DESIGN §4, §7 or §8 or a page of the documentation promises. */
export interface TimedPromise {
  readonly name: string;
  readonly promise: string;
  /** The file of the production code that counts the duration. */
  readonly kept: string;
  /** The checkers that judge it, as files. */
  readonly judgedBy: readonly string[];
  /** The scenario in which it happens. */
  readonly scenario: Scenario;
  /**
   * Mutants that make the duration a tenth shorter, or longer where lateness is the danger, and what a checker says of each.
   * A run with a mutant goes on until a message matches: the mutant is noticed by the checker of its own promise.
   */
  readonly mutants: Readonly<Partial<Record<Mutant['name'], RegExp>>>;
}

function named(scenarios: readonly Scenario[], wanted: string): Scenario {
  const found = scenarios.find(({ name }) => name === wanted);
  if (found === undefined) throw new Error(`there is no scenario ${wanted}`);
  return found;
}
const failClosed = named(lostNodes, '001-fail-closed');
const forgotten = named(orphanReservationScenarios, '000-orphan-reservation-forgotten');

const inRepair = 'reconcile/repair/next-repair-step.ts';
const inFreshness = 'observe/node-freshness.ts';
const inSupervisor = 'agent/supervisor/fence-watch.ts';

/** Every such duration that a run of the simulator can see the end of. docs/simulate.md names the others, and why. */
export const timedPromises: readonly TimedPromise[] = [
  {
    name: 'lease.takeover',
    promise: 'a lease is taken only after it has stood unchanged for its whole duration',
    ...{ kept: 'reconcile/runtime/leadership.ts', judgedBy: ['lease-takeovers'], scenario: newLeader },
    mutants: { 'lease.takeover.short': /was taken by .* too early/ },
  },
  {
    name: 'hold.expiry',
    promise: 'a hold expires when its deadline is over, and not before',
    ...{
      kept: 'reconcile/collect/judge-hold.ts',
      judgedBy: ['hold-times', 'deadlines'],
      scenario: forgotten,
    },
    mutants: { 'hold.expiry.short': /expired after .* too early/, 'hold.expiry.never': /was Held at/ },
  },
  {
    name: 'hold.kept',
    promise: 'a hold that is over stays for a minute',
    ...{ kept: 'reconcile/collect/judge-hold.ts', judgedBy: ['hold-times'], scenario: forgotten },
    mutants: { 'hold.kept.short': /was deleted after .* too early/ },
  },
  {
    name: 'stage.bound',
    promise: 'a replica of which no start is reported is called Unknown after startDeadlineSeconds',
    ...{ kept: inRepair, judgedBy: ['repair-times', 'deadlines'], scenario: durations },
    mutants: {
      'stage.bound.short': /\(StartDeadlinePassed\) after .* too early/,
      'stage.bound.never': /unreported-0-1 was Bound on/,
    },
  },
  {
    name: 'stage.starting',
    promise: 'a replica that stays Starting is called Unknown 30 s after startDeadlineSeconds',
    ...{ kept: inRepair, judgedBy: ['repair-times', 'deadlines'], scenario: durations },
    mutants: {
      'stage.starting.short': /\(StartOverdue\) after .* too early/,
      'stage.starting.never': /slow-0-1 was Starting on/,
    },
  },
  {
    name: 'stage.releasing',
    promise: 'a replica that does not stop is called Unknown 30 s after its grace',
    ...{ kept: inRepair, judgedBy: ['repair-times', 'deadlines'], scenario: durations },
    mutants: {
      'stage.releasing.short': /\(StopOverdue\) after .* too early/,
      'stage.releasing.never': /deaf-0-1 was Releasing on/,
    },
  },
  {
    name: 'stage.lease',
    promise: 'a replica is called Unknown when the lease of its node has expired',
    ...{ kept: inRepair, judgedBy: ['silence', 'deadlines'], scenario: durations },
    mutants: {
      'silence.fast': /was called Unknown for a silence/,
      'stage.lease.never': /was (Serving|Ready) on lost/,
    },
  },
  {
    name: 'silence.suspect',
    promise: 'no node is late before a silence of 11 s',
    ...{ kept: inFreshness, judgedBy: ['silence'], scenario: durations },
    mutants: { 'silence.suspect.short': /was called Suspect 10000 ms after it was heard of/ },
  },
  {
    name: 'silence.lost',
    promise: 'a node is called Lost after a silence of the fence window',
    ...{ kept: inFreshness, judgedBy: ['silence'], scenario: durations },
    mutants: { 'silence.fast': /was called Lost/ },
  },
  {
    name: 'repair.replaceable',
    promise: 'a lost replica may be replaced afterSeconds after the last renewal',
    ...{ kept: inRepair, judgedBy: ['silence', 'deadlines'], scenario: durations },
    mutants: {
      'repair.replaceable.short': /was called Replaceable for a silence/,
      'repair.replaceable.never': /anew-0-1 was Unknown on lost and not Replaceable/,
    },
  },
  {
    name: 'repair.human',
    promise: 'where a workload asks to wait, a human is asked for after afterSeconds',
    ...{ kept: inRepair, judgedBy: ['repair-times', 'deadlines'], scenario: failClosed },
    mutants: {
      'repair.human.short': /asked for a human after .* too early/,
      'repair.human.never': /was Unknown on/,
    },
  },
  {
    name: 'repair.answer',
    promise: 'an agent that is back has a minute to say what runs, and is then asked to stop it',
    ...{ kept: inRepair, judgedBy: ['repair-times', 'deadlines'], scenario: durations },
    mutants: {
      'repair.answer.short': /because nothing was reported after .* too early/,
      'repair.answer.never': /unreported-0-1 was Unknown on/,
    },
  },
  {
    name: 'repair.together',
    promise: 'nothing is given up for a silence of less than 29 s, however short the lease is',
    ...{ kept: inRepair, judgedBy: ['brake-times'], scenario: durations },
    mutants: { 'repair.together.short': /was given away on short for a silence after .* too early/ },
  },
  {
    name: 'window.release',
    promise: 'a fenced replica is released when the lease has stood for the fence window under one leader',
    ...{ kept: inRepair, judgedBy: ['silence', 'expired-permits', 'deadlines'], scenario: durations },
    mutants: {
      'silence.fast': /was released by FenceExpired .* for a silence/,
      'window.release.never': /once-0-1 was Unknown on lost/,
    },
  },
  {
    name: 'window.journal',
    promise: 'a fenced replica of another journal is released after the fence window',
    ...{ kept: inRepair, judgedBy: ['silence'], scenario: lostDirectory },
    mutants: { 'window.journal.short': /was released by JournalExpired .* for a silence/ },
  },
  {
    name: 'window.permit',
    promise: 'when a lease has stood for the window, the permit of the supervisor is over on its own clock',
    ...{ kept: inRepair, judgedBy: ['expired-permits'], scenario: fenceChange },
    mutants: { 'silence.fast': /released by FenceExpired, and the supervisor of .* may run it for/ },
  },
  {
    name: 'window.permitOfJournal',
    promise: 'when another journal has stood for the window, the permit of the old supervisor is over',
    ...{ kept: inRepair, judgedBy: ['expired-permits'], scenario: lostDirectory },
    mutants: {
      'window.journal.short': /released by JournalExpired, and the supervisor of .* may run it for/,
    },
  },
  {
    name: 'window.settle',
    promise: 'the fence window is lowered after the window that stands',
    ...{ kept: 'reconcile/repair/settle-fence.ts', judgedBy: ['fence-window'], scenario: fenceChange },
    mutants: { 'window.settle.short': /the fence window was lowered .* too early/ },
  },
  {
    name: 'fence.permit',
    promise: 'the permit s+D of a supervisor is over when its node is given up',
    ...{ kept: 'agent/node-session.ts', judgedBy: ['expired-permits'], scenario: fenceEdge },
    mutants: { 'fence.permitLong': /the supervisor of n may run it for/ },
  },
  {
    name: 'fence.kill',
    promise: 'the supervisor ends what is fenced at s+D−κ',
    ...{ kept: inSupervisor, judgedBy: ['expired-permits'], scenario: fenceEdge },
    mutants: { 'fence.killLong': /after its permit was over/ },
  },
  {
    name: 'fence.start',
    promise: 'nothing fenced starts from s+D−G on',
    ...{ kept: inSupervisor, judgedBy: ['expired-permits'], scenario: fenceEdge },
    mutants: { 'fence.grace': /before its permit ends/ },
  },
  {
    name: 'attestation',
    promise: 'the word of a human counts for as long as the human said',
    ...{
      kept: 'reconcile/repair/node-upkeep.ts',
      judgedBy: ['attestations', 'deadlines'],
      scenario: durations,
    },
    mutants: {
      'attestation.short': /what a human attests was over after .* too early/,
      'attestation.never': /was attested at/,
    },
  },
  {
    name: 'brake.hold',
    promise: 'where most nodes of a zone are silent, nothing is given away for five minutes',
    ...{ kept: 'observe/brakes.ts', judgedBy: ['brake-times'], scenario: zoneLost },
    mutants: { 'brake.hold.short': /so many nodes are silent that repair is stopped/ },
  },
  {
    name: 'brake.linger',
    promise: 'a brake weakens 40 s after as many nodes were last silent',
    ...{ kept: 'observe/brake-observer.ts', judgedBy: ['brake-times'], scenario: zoneLost },
    mutants: { 'brake.linger.short': /says that repair goes on around/ },
  },
  {
    name: 'brake.slow',
    promise: 'where repair is slow, one replica of a zone is given away every two seconds',
    ...{ kept: 'reconcile/repair/repair-budget.ts', judgedBy: ['brake-times'], scenario: zoneLost },
    mutants: { 'brake.slow.short': /where repair is slow, after .* too early/ },
  },
  {
    name: 'drain.deadline',
    promise: 'a drain is called Stuck after its deadline',
    ...{ kept: 'reconcile/drain/plan-drain.ts', judgedBy: ['drains', 'deadlines'], scenario: durations },
    mutants: {
      'drain.deadline.short': /was called Stuck after .* too early/,
      'drain.deadline.never': /was Draining at/,
    },
  },
  {
    name: 'traffic.minReady',
    promise: 'a replica serves after it has been ready for minReadySeconds',
    ...{
      kept: 'reconcile/endpoints/next-traffic-step.ts',
      judgedBy: ['traffic-times'],
      scenario: durations,
    },
    mutants: { 'traffic.minReady.short': /was called Serving after .* too early/ },
  },
  {
    name: 'traffic.withdrawal',
    promise: 'a replica that clients are sent to is told to stop once it is withdrawn, or after 20 s',
    ...{ kept: 'commit/nodes/withdrawals.ts', judgedBy: ['traffic'], scenario: durations },
    mutants: { 'traffic.withdrawal.short': /was asked to stop at/ },
  },
  {
    name: 'slot.backoff',
    promise: 'a slot waits for its next replica after every failure, twice as long for each in a row',
    ...{ kept: 'reconcile/workload/failures.ts', judgedBy: ['backoff-times'], scenario: durations },
    mutants: { 'slot.backoff.short': /failures in a row after .* too early/ },
  },
  {
    name: 'job.grace',
    promise: 'a job that is asked to stop is killed when its grace is over, and not before',
    ...{ kept: 'agent/supervisor/supervisor.ts', judgedBy: ['agent-times'], scenario: durations },
    mutants: { 'job.grace.short': /its grace is 10000 ms/, 'job.grace.long': /its grace is 10000 ms/ },
  },
  {
    name: 'job.start',
    promise: 'an agent fails a replica that is not ready within startDeadlineSeconds',
    ...{ kept: 'agent/upkeep/upkeep.ts', judgedBy: ['agent-times'], scenario: durations },
    mutants: {
      'job.start.short': /failed for its start deadline after .* too early/,
      'job.start.never': /an agent fails what is not ready in time/,
    },
  },
  {
    name: 'node.reopens',
    promise: 'a node that comes back takes work again',
    ...{ kept: 'reconcile/detect/judge-gate.ts', judgedBy: ['returned-nodes'], scenario: durations },
    mutants: { 'node.reopens.never': /is back and renews its lease; it is/ },
  },
  {
    name: 'node.registers',
    promise: 'a node whose epoch was closed registers again',
    ...{ kept: 'agent/node-session.ts', judgedBy: ['returned-nodes'], scenario: fenceChange },
    mutants: { 'node.registers.never': /is up and does not renew its lease/ },
  },
];
