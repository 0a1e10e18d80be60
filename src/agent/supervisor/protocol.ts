import { type BootInstant, bootInstant, bootMs } from '../../env/instant.js';
import type { Permit, Run, RunnerEvent } from '../runner.js';
import type { RunSpec } from './machine.js';

/**
 * What an agent and its supervisor say to each other, in lines of JSON over a socket in the agent's directory. A supervisor
 * outlives its agent, so that an upgraded agent may meet an older supervisor: each says the newest version it speaks, both
 * speak the older of the two, and what a supervisor does not know it leaves out. Fields are only ever added.
 */
export const protocolVersion = 3;
/**
 * From this version on a supervisor gives jobs no open file and no variable of its agent, and has them go to their working
 * directory as their own user.
 */
export const versionThatIsolates = 3;

/** What is to be done about runs. */
export type RunOrder =
  | { readonly kind: 'start'; readonly spec: RunSpec }
  | { readonly kind: 'stop'; readonly uid: string; readonly graceSeconds: number }
  | { readonly kind: 'forget'; readonly uid: string }
  | { readonly kind: 'permit'; readonly permit: WirePermit };

export type AgentSays =
  | { readonly kind: 'hello'; readonly version: number }
  | RunOrder
  /** Asks for an answer; from version 2 on. */
  | { readonly kind: 'ping' }
  /** Ends every job, then the supervisor. */
  | { readonly kind: 'end'; readonly graceSeconds: number };

export type SupervisorSays =
  | ({ readonly kind: 'welcome' } & Welcome)
  | { readonly kind: 'pong' }
  | { readonly kind: 'event'; readonly event: RunnerEvent };

/** What an agent learns first: all that there is, and what the machine can do. */
export interface Welcome {
  readonly version: number;
  readonly pid: number;
  readonly canFence: boolean;
  /** Whether runs have a pid namespace, and a user namespace around it. */
  readonly isolation: 'Namespace' | 'UserNamespace' | 'Group';
  /** Limits that this machine does not enforce. */
  readonly unenforced: readonly ('memory' | 'cpu' | 'pids')[];
  readonly runs: readonly Run[];
  /** The id of its journal: see `JournalFile`. Older ones do not say. */
  readonly journal?: string;
  /** What was wrong with the journal when it was opened, for people. */
  readonly damage?: string;
}

/** Instants of the machine's boot time, which all of its processes share. */
export interface WirePermit {
  readonly startUntilMs: number;
  readonly killAtMs: number;
  readonly overAtMs: number;
}

export const wirePermit = ({ startUntil, killAt, overAt }: Permit): WirePermit => ({
  ...{ startUntilMs: bootMs(startUntil), killAtMs: bootMs(killAt), overAtMs: bootMs(overAt) },
});

export function permitOf({ startUntilMs, killAtMs, overAtMs }: WirePermit): Permit {
  const at = (ms: number): BootInstant => bootInstant(ms);
  return { startUntil: at(startUntilMs), killAt: at(killAtMs), overAt: at(overAtMs) };
}
