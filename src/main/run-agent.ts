import { join, resolve } from 'node:path';
import { KeptLogs } from '../agent/logs/kept-logs.js';
import type { AgentConfigSpec } from '../agent/machine/agent-config.js';
import { offerOf, overstated } from '../agent/machine/machine.js';
import { readMachine } from '../agent/machine/read-machine.js';
import { NodeSession } from '../agent/node-session.js';
import { RefusalFile } from '../agent/refusals.js';
import { cgroupName } from '../agent/process/cgroup-name.js';
import { AgentSessions } from '../agent/sessions/agent-sessions.js';
import { KeptDriver } from '../agent/upkeep/kept-driver.js';
import type { Place } from '../agent/upkeep/launch.js';
import { NetworkProbes } from '../agent/upkeep/network-probes.js';
import { Wheel } from '../agent/wheel.js';
import { AgentMetrics } from '../agent/usage/agent-metrics.js';
import { UsageTurns } from '../agent/usage/usage-turns.js';
import type { Env } from '../env/env.js';
import { BerthError } from '../model/errors.js';
import type { NodeStreams } from '../model/node-stream.js';
import type { SessionDial } from '../model/sessions.js';
import { lockDirectory } from '../store/directory-lock.js';
import { agentEntries, closeDirectory, closedAbove } from './close-directory.js';
import { boundedLog } from './bounded-log.js';
import { openContainerRunner } from './container-runner.js';
import type { ListenAddress } from './listen-address.js';
import { callbacksFor, type Log } from './log.js';
import { nowAndThen } from './now-and-then.js';

import { openProcessRunner } from './process-runner.js';
import { processTenants } from './process-tenants.js';
import { type AgentMetricsServer, serveAgentMetrics } from './serve-agent-metrics.js';
import type { TenantUsers } from './user-of-tenants.js';

export interface RunAgentParts {
  readonly streams: NodeStreams;
  /** Where sessions with replicas of this node are answered. */
  readonly dial: SessionDial;
  /** What belongs to this agent: one at a time may use it. */
  readonly dir: string;
  readonly place: Place;
  readonly config: AgentConfigSpec;
  readonly users: TenantUsers;
  /** Processes of all tenants run here, also where nothing keeps them apart. */
  readonly allowsSharedUser: boolean;
  /** Where what its replicas use is told; undefined: nowhere. */
  readonly metrics: ListenAddress | undefined;
  readonly version: string;
  readonly env: Env;
  readonly log: Log;
}

export interface RunningAgent {
  /** Resolves when the control plane has heard of this life of the agent and has told it what is bound here. */
  readonly heard: Promise<void>;
  /** Ends the agent. Its jobs go on and are found by the next one, unless they are to end too. */
  close(jobs: 'KeepJobs' | 'EndJobs'): Promise<void>;
}

// How long jobs get to stop when their agent ends for good.
const endGraceSeconds = 8;
const logSweepMs = 5 * 60_000;

/** The agent of this machine over any connection to a control plane. */
export async function runAgent(parts: RunAgentParts): Promise<RunningAgent> {
  const { streams, dial, place, config, users, version, env } = parts;
  const { onDefect } = callbacksFor(parts.log, 'agent');
  const { userOf } = users;
  // The supervisor is elsewhere in the tree of directories.
  const dir = resolve(parts.dir);
  closeDirectory(dir, agentEntries);
  const lock = lockDirectory(dir);
  const log = boundedLog(parts.log, env);
  const problem = (message: string): void =>
    log({ level: 'warn', component: 'agent', object: place.node, message });
  try {
    const machine = await readMachine();
    for (const message of overstated(machine, config)) problem(message);
    const processes = await openProcessRunner({
      ...{ dir, node: place.node, env, onProblem: problem },
      onJournalLost: (message) => onDefect(new BerthError('InternalError', message)),
      ...(userOf !== undefined && { userOf }),
    });
    const whose = processTenants({
      ...{ sharedUser: users.shared, allowsShared: parts.allowsSharedUser },
      hasNamespaces: processes.hasNamespaces,
    });
    if (whose.problem !== undefined) problem(whose.problem);
    const closed = userOf === undefined ? undefined : closedAbove(dir);
    if (closed !== undefined)
      problem(`jobs cannot reach their HOME: other users may not enter ${closed}; choose another --dir`);
    if (processes.lessApart !== undefined)
      problem(`${processes.lessApart}; end the agent with its jobs and start it again`);
    const logs = new KeptLogs({
      ...{ dir: join(dir, 'logs'), env },
      isLive: (uid) => [...driver.list()].includes(uid),
    });
    const containers = await openContainerRunner({
      ...{ dir, node: place.node, agent: cgroupName(dir), logs, env, onProblem: problem },
      socketPath: config.containerSocket,
    });
    const runners = containers === undefined ? [processes] : [processes, containers];
    const wheel = new Wheel(env);
    const driver = new KeptDriver({
      ...{ runners, env, wheel, place, caller: new NetworkProbes(env) },
      ...(config.address !== undefined && { address: config.address }),
      ...(whose.tenants !== undefined && { processTenants: whose.tenants }),
    });
    const turns = new UsageTurns(driver);
    const metrics = await metricsAt(
      { metrics: new AgentMetrics(() => driver.usage()), dir, env },
      parts.metrics,
      problem,
    );
    const sessions = new AgentSessions({
      ...{ node: place.node, dial, logs, onProblem: problem },
      runnerOf: (uid) => driver.runnerOf(uid),
      isOver: (uid) => driver.isOver(uid),
    });
    const refusals = new RefusalFile(join(dir, 'refusals'), () => env.uuid(), problem);
    const stop = new AbortController();
    const sweeping = nowAndThen({ env, signal: stop.signal, onDefect }, logSweepMs, () => logs.sweep());
    let onHeard = (): void => undefined;
    const heard = new Promise<void>((isHeard) => {
      onHeard = isHeard;
    });
    const { architecture, operatingSystem } = machine;
    const session = new NodeSession({
      ...{ streams, driver, env, wheel, refusals, sessions, onProblem: problem, onHeard },
      usage: () => turns.next(),
      ...(config.leaseSeconds !== undefined && { leaseSeconds: config.leaseSeconds }),
      offer: {
        ...{ ...place, ...offerOf(machine, config) },
        ...(config.labels !== undefined && { labels: config.labels }),
        ...(config.taints !== undefined && { taints: config.taints }),
        ...(processes.journal !== undefined && { journal: `${processes.journal} ${refusals.journal}` }),
        agent: {
          ...{ version, architecture, operatingSystem, drivers: runners.map(({ name }) => name) },
          fencing: driver.canFence ? 'Supported' : 'Unsupported',
          unenforced: [...processes.unenforced],
          ...(config.address !== undefined && { address: config.address }),
          ...(whose.tenants !== undefined && { processTenants: [...whose.tenants] }),
        },
      },
    });
    session.start();
    return {
      heard,
      close: async (jobs) => {
        stop.abort();
        session.close();
        sessions.close();
        wheel.close();
        await metrics?.close();
        if (jobs === 'EndJobs')
          await Promise.all([processes.end(endGraceSeconds), containers?.end(endGraceSeconds)]);
        else await processes.close();
        await containers?.close();
        await sweeping;
        refusals.close();
        lock.release();
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** An agent whose metrics cannot be served says so, and goes on: its jobs matter more. */
async function metricsAt(
  parts: Parameters<typeof serveAgentMetrics>[0],
  at: ListenAddress | undefined,
  onProblem: (message: string) => void,
): Promise<AgentMetricsServer | undefined> {
  if (at === undefined) return undefined;
  try {
    return await serveAgentMetrics(parts, at);
  } catch (error) {
    onProblem(`its metrics are not served: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
}
