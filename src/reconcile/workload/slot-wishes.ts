import { completionsOf } from '../../model/completions.js';
import type { Node } from '../../model/kinds/node.js';
import type { Replica } from '../../model/kinds/replica.js';
import type { Workload } from '../../model/kinds/workload.js';
import { isTerminal } from '../../model/stages.js';
import { daemonWish } from './daemon-nodes.js';
import { delayMsAfter, failuresAfter } from './failures.js';
import type { ReplicaFacts } from './replica-facts.js';
import type { Slots } from './slot.js';

/**
 * What a workload wants of one of its slots. Run: a replica should be there. Wait: the next one comes when a
 * backoff is over. Keep: nothing new, and what is there stays. Yield: what is there should end, and the slot may
 * come again. A slot without a wish is not wanted at all.
 */
export type SlotWish =
  | { readonly kind: 'Run' }
  | { readonly kind: 'Wait'; readonly ms: number }
  | { readonly kind: 'Keep' }
  | { readonly kind: 'Yield' };

export interface WishInput {
  readonly workload: Workload;
  readonly slots: Slots;
  readonly nodes: readonly Node[];
  /** How long ago this process first saw that a replica had ended. */
  readonly endedMs: (replica: Replica) => number;
}

const run: SlotWish = { kind: 'Run' };
const keep: SlotWish = { kind: 'Keep' };

export const stageOf = (replica: Replica): NonNullable<Replica['status']>['stage'] =>
  replica.status?.stage ?? 'Queued';
export const hasEnded = (replica: Replica): boolean => isTerminal(stageOf(replica));

/**
 * Whether a service has exactly what it wants, and nothing has to be done for any of it: what is found in nearly every
 * look at a large one. False says nothing.
 */
export function isAsWished({ workload, slots }: WishInput): boolean {
  const { type = 'Service', replicas = 1 } = workload.spec;
  if (type !== 'Service' || slots.size !== replicas) return false;
  let alike: ReplicaFacts | undefined;
  for (const slot of slots.values()) {
    alike = slot.facts(alike);
    // Numbers are never the same: as many as are wanted, all of them below that, are those that are wanted.
    if (!(slot.number < replicas) || slot.older.length > 0 || !alike.isCalm) return false;
  }
  return true;
}

/** Whether a slot is wanted in some way. */
export function slotWished(input: WishInput): (slot: string) => boolean {
  const { type, replicas = 1 } = input.workload.spec;
  if (type === 'Service' || type === undefined) return (slot) => Number(slot) < replicas;
  const wished = new Set<string>();
  for (const [slot] of slotWishes(input)) wished.add(slot);
  return (slot) => wished.has(slot);
}

/** Every slot that is wanted in some way, in the order in which they are served. */
export function* slotWishes(input: WishInput): Generator<readonly [slot: string, wish: SlotWish]> {
  const { workload, slots, nodes } = input;
  switch (workload.spec.type) {
    case 'Batch':
      yield* batchWishes(input);
      return;
    case 'Daemon':
      for (const node of nodes) {
        const wish = daemonWish(workload, node);
        const { name } = node.metadata;
        if (wish === 'Run') yield [name, runOrWait(input, slots.get(name)?.newest)];
        else if (wish === 'Keep' && slots.has(name)) yield [name, keep];
      }
      return;
    case 'Service':
    case undefined:
      for (let slot = 0; slot < (workload.spec.replicas ?? 1); slot++) {
        const name = String(slot);
        yield [name, runOrWait(input, slots.get(name)?.newest)];
      }
  }
}

function runOrWait({ workload, endedMs }: WishInput, current: Replica | undefined): SlotWish {
  if (current === undefined || !hasEnded(current)) return run;
  const ms = delayMsAfter(current, workload.spec.type ?? 'Service') - endedMs(current);
  return ms > 0 ? { kind: 'Wait', ms } : run;
}

/** A batch has failed when one of its slots has failed more often than is retried. */
export function hasBatchFailed({ spec }: Workload, slots: Slots): boolean {
  const backoffLimit = spec.batch?.backoffLimit ?? 6;
  const completions = completionsOf(spec);
  for (const [slot, { newest: current }] of slots) {
    if (Number(slot) >= completions) continue;
    if (stageOf(current) === 'Failed' && failuresAfter(current, 'Batch') > backoffLimit) return true;
  }
  return false;
}

/** Completion indexes: at most `replicas` at once, lower ones first, each until it has succeeded. */
function* batchWishes(input: WishInput): Generator<readonly [slot: string, wish: SlotWish]> {
  const { workload, slots } = input;
  const completions = completionsOf(workload.spec);
  const atOnce = workload.spec.replicas ?? 1;
  const hasFailed = hasBatchFailed(workload, slots);
  const current = (slot: number): Replica | undefined => slots.get(String(slot))?.newest;
  const isActive = (slot: number): boolean => {
    const replica = current(slot);
    return replica !== undefined && !hasEnded(replica);
  };
  // What is active keeps its place; new ones get what is left.
  let active = 0;
  for (let slot = 0; slot < completions; slot++) if (isActive(slot)) active += 1;
  let kept = 0;
  let free = Math.max(0, atOnce - active);
  for (let slot = 0; slot < completions; slot++) {
    const replica = current(slot);
    if (isActive(slot)) {
      kept += 1;
      yield [String(slot), kept > atOnce ? { kind: 'Yield' } : run];
    } else if (hasFailed || (replica !== undefined && stageOf(replica) === 'Succeeded')) {
      yield [String(slot), keep];
    } else {
      const wish = runOrWait(input, replica);
      if (wish.kind === 'Run') free -= 1;
      yield [String(slot), wish.kind === 'Run' && free < 0 ? keep : wish];
    }
  }
}
