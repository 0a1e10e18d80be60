import { spawn } from 'node:child_process';
import { readKubeconfig } from '../client/client.js';
import { NodeConnection } from '../client/node-connection.js';
import { ServerList } from '../client/server-list.js';
import { usualProfile } from '../agent/drivers/hollow-profile.js';
import { HollowDriver } from '../agent/drivers/hollow.js';
import { KeptLogs } from '../agent/logs/kept-logs.js';
import type { LogWriter } from '../agent/logs/log-writer.js';
import { NodeSession } from '../agent/node-session.js';
import type { ExecEars, ExecRequest, ExecSession, Runner } from '../agent/runner.js';
import { AgentSessions } from '../agent/sessions/agent-sessions.js';
import { Wheel } from '../agent/wheel.js';
import { realEnv } from '../env/real.js';
import type { NodeBinding } from '../model/node-stream.js';
import type { SessionDial } from '../model/sessions.js';

export interface SessionNode {
  /** Writes as an execution of a replica. */
  log(replica: string, execution: number): Promise<LogWriter>;
  /** What runs of it ends. */
  finish(replica: string): void;
  isRunning(replica: string): boolean;
  close(): Promise<void>;
}

/** A node whose replicas run nothing, but have logs in real files, real commands beside them, and restarts to tell of. */
export async function startSessionNode(parts: {
  readonly node: string;
  /** A kubeconfig by which the server knows it as the node. */
  readonly kubeconfig: string;
  readonly dir: string;
  /** How long it takes to answer what its stream tells it of; by default no time. */
  readonly answersAfterMs?: number;
}): Promise<SessionNode> {
  const { node, dir, answersAfterMs = 0 } = parts;
  const env = realEnv();
  const access = await readKubeconfig({ path: parts.kubeconfig });
  const connection = await NodeConnection.open({
    ...{ servers: ServerList.of(access), env },
    accessTo: () => access,
    onProblem: () => undefined,
  });
  const running = new Map<string, NodeBinding>();
  const over = new Set<string>();
  const wheel = new Wheel(env);
  const driver = new HollowDriver({
    ...{ profile: usualProfile, wheel, env, random: env.random, believesTold: true },
    onRun: (binding, isRunning) => {
      if (isRunning) running.set(binding.replica.name, binding);
      else over.add(binding.replica.uid);
    },
  });
  const logs = new KeptLogs({ dir, env, isLive: () => true });
  const isOver = (uid: string): boolean => over.has(uid);
  const dial: SessionDial = {
    dial: async (at, id) => {
      await env.sleep(answersAfterMs);
      return connection.dial(at, id);
    },
  };
  const sessions = new AgentSessions({
    ...{ node, logs, dial, isOver, onProblem: () => undefined },
    runnerOf: (uid) => (isOver(uid) ? undefined : ({ exec: execHere } as unknown as Runner)),
  });
  const offers = { cpu: '8', memory: '16Gi' };
  const session = new NodeSession({
    ...{ streams: connection, driver, env, wheel, sessions, onProblem: () => undefined },
    usage: () => [...running.values()].map(({ replica: { uid } }) => ({ uid, restarts: 3, oomKills: 1 })),
    offer: { node, capacity: offers, allocatable: offers, agent: { version: 'test', drivers: ['process'] } },
  });
  session.start();
  const bindingOf = (replica: string): NodeBinding => {
    const found = running.get(replica);
    if (found === undefined) throw new Error(`${replica} does not run here`);
    return found;
  };
  return {
    log: (replica, execution) => {
      const { replica: ref, workload, slot } = bindingOf(replica);
      const { tenant, uid } = ref;
      return logs.open({ tenant, workload, replica, uid, slot, execution, node });
    },
    finish: (replica) => void over.add(bindingOf(replica).replica.uid),
    isRunning: (replica) => running.has(replica),
    close: async () => {
      session.close();
      sessions.close();
      wheel.close();
      await connection.close();
    },
  };
}

/** A real process, as a runner would start it, without surroundings of its own. */
function execHere(_: string, { command }: ExecRequest, ears: ExecEars): ExecSession {
  const [program = '', ...words] = command;
  const child = spawn(program, words, { stdio: ['pipe', 'pipe', 'pipe'] });
  child.stdin.on('error', () => undefined);
  child.stdout.on('data', (bytes: Buffer) => ears.onOutput('stdout', bytes));
  child.stderr.on('data', (bytes: Buffer) => ears.onOutput('stderr', bytes));
  child.once('error', (error) => ears.onExit(undefined, error.message));
  child.once('close', (code) => {
    if (child.pid !== undefined) ears.onExit(code ?? 137);
  });
  return {
    write: (bytes, onTaken) => void child.stdin.write(bytes, () => onTaken()),
    end: () => void child.stdin.end(),
    resize: () => undefined,
    pause: () => void [child.stdout.pause(), child.stderr.pause()],
    resume: () => void [child.stdout.resume(), child.stderr.resume()],
    kill: () => void child.kill('SIGKILL'),
  };
}
