import type { Replica, ReplicaStatus } from '../model/kinds/replica.js';
import { isTerminal, type Stage } from '../model/stages.js';

/** A replica as its two records show it. There are very many: what the records say is not said here again. */
export interface ReplicaState {
  stored: Pick<Replica, 'metadata' | 'spec'> | undefined;
  status: ReplicaStatus | undefined;
  /**
   * The uid under which it is in the queue, among the held or with its gang; undefined: nowhere. It is the intake's, and
   * kept here so that a change of a replica is one look-up by its name and not one for everybody who follows it.
   */
  waitsAs: string | undefined;
  /** The replica left its stage and came back since the intake looked at it, so that nothing is under way for it any more. */
  hasReturned: boolean;
}

const nobody: readonly never[] = [];

/** The replicas of a cell, by name and by the node that is charged with them. */
export class ReplicaStates {
  // By tenant, then by name: the names are the strings of the objects themselves, so nothing is kept for a key.
  readonly #byTenant = new Map<string, Map<string, ReplicaState>>();
  // In lists: a node has few replicas beside the cell, and a set would take more memory than what is in it.
  readonly #chargesOn = new Map<string, ReplicaState[]>();

  get(tenant: string, name: string): ReplicaState | undefined {
    return this.#byTenant.get(tenant)?.get(name);
  }

  /** One that nothing is known of, where it is not there yet. */
  at(tenant: string, name: string): ReplicaState {
    let replicas = this.#byTenant.get(tenant);
    if (replicas === undefined) this.#byTenant.set(tenant, (replicas = new Map()));
    let state = replicas.get(name);
    if (state === undefined)
      replicas.set(
        name,
        (state = { stored: undefined, status: undefined, waitsAs: undefined, hasReturned: false }),
      );
    return state;
  }

  delete(tenant: string, name: string): void {
    const replicas = this.#byTenant.get(tenant);
    if (replicas?.delete(name) === true && replicas.size === 0) this.#byTenant.delete(tenant);
  }

  /** Those that a node is charged with, in the order that they were. */
  chargesOn(node: string): readonly ReplicaState[] {
    return this.#chargesOn.get(node) ?? nobody;
  }

  /** Another node is charged with it: none before, or none any more. */
  moveCharge(state: ReplicaState, before: string | undefined, after: string | undefined): void {
    if (before === after) return;
    if (before !== undefined) this.#uncharge(state, before);
    if (after === undefined) return;
    const charges = this.#chargesOn.get(after);
    if (charges === undefined) this.#chargesOn.set(after, [state]);
    else charges.push(state);
  }

  #uncharge(state: ReplicaState, node: string): void {
    const charges = this.#chargesOn.get(node);
    const at = charges?.indexOf(state) ?? -1;
    if (at < 0) return;
    charges?.splice(at, 1);
    if (charges?.length === 0) this.#chargesOn.delete(node);
  }
}

/** Of a key under /o or /s. */
export const isOfReplica = (key: string): boolean => key.startsWith('Replica/', 3);

/** Tenant and name in the key of either record of a replica. */
export function namesIn(key: string): { readonly namespace: string; readonly name: string } {
  const from = '/o/Replica/'.length;
  const slash = key.indexOf('/', from);
  return { namespace: key.slice(from, slash), name: key.slice(slash + 1) };
}

/** The node whose account counts it: it has a charge and has not ended. */
export const chargedNode = (status: ReplicaStatus | undefined): string | undefined =>
  status?.charge === undefined || isTerminal(status.stage) ? undefined : status.charge.node;

/** The node that it was on when it failed. Counted for a workload, which its object names. */
export const failedOn = ({ stored, status }: ReplicaState): string | undefined =>
  stored === undefined || status?.stage !== 'Failed' ? undefined : status.binding?.node;

const runs: ReadonlySet<Stage> = new Set<Stage>(['Bound', 'Starting', 'Ready', 'Serving']);

/** Whether a replica at this stage can be asked to leave. */
export const canLeave = (stage: Stage): boolean => runs.has(stage);
