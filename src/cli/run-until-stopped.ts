import type { Env } from '../env/env.js';
import type { Log } from '../main/log.js';
import { CommandFailure } from './command-failure.js';
import { exitCodes } from './exit-codes.js';
import type { LogFlags } from './log-options.js';

/** The surroundings of every program that goes on. */
export interface Surroundings {
  readonly env: Env;
  readonly log: Log;
}

interface Running {
  /** What is printed when it is ready. */
  readonly ready: string;
  close(): Promise<void>;
}

/** Starts something that goes on, prints that it is ready, and stops it cleanly when the process is told to end. */
export async function runUntilStopped(
  { logFormat, logLevel }: LogFlags,
  start: (surroundings: Surroundings) => Promise<Running>,
): Promise<void> {
  const [{ realEnv }, { openLog }, { errorEvent }] = await Promise.all([
    import('../env/real.js'),
    import('../main/open-log.js'),
    import('../main/log.js'),
  ]);
  const env = realEnv();
  const write = (line: string): void => void process.stderr.write(line);
  const log = await openLog({ format: logFormat, level: logLevel, env, write });
  // Before the handler of all commands, which knows of no log: an error that nothing expected ends the process.
  process.prependListener('uncaughtException', (error) => {
    log(errorEvent('berth', error));
    process.exit(exitCodes.error);
  });
  // What Berth writes is its own. Jobs set theirs themselves.
  process.umask(0o077);
  try {
    const running = await start({ env, log });
    const stop = new Promise<NodeJS.Signals>((resolve) => {
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve(signal));
    });
    process.stdout.write(`${running.ready}\n`);
    const signal = await stop;
    log({ level: 'info', component: 'berth', message: 'stopping', fields: { signal } });
    await running.close();
    // Everything is closed: whatever would still keep the process, a command that cannot be killed, is not waited for.
    process.exit();
  } catch (error) {
    await reportStart(portTaken(error) ?? error, logFormat, log);
  }
}

/** A program that does not start is told of like any other command that fails, unless a program reads what it says. */
async function reportStart(error: unknown, format: LogFlags['logFormat'], log: Log): Promise<void> {
  const { describeError, exitCodeOf, reportFailure } = await import('./report-failure.js');
  if (format === 'plain') return void reportFailure(error);
  log({ level: 'error', component: 'berth', message: describeError(error), error });
  process.exitCode = exitCodeOf(error);
}

function portTaken(error: unknown): CommandFailure | undefined {
  const { code, address, port } = error as NodeJS.ErrnoException & { address?: string; port?: number };
  if (code !== 'EADDRINUSE') return undefined;
  const at = `another process listens on ${address} port ${port}`;
  return new CommandFailure(exitCodes.error, `${at}; choose another port, or 0 for any that is free`);
}

/** A server that is ready, as `runUntilStopped` wants it. */
export const readyServer = (server: {
  readonly url: string;
  readonly kubeconfig: string;
  close(): Promise<void>;
}): Running => ({
  ready: `ready ${server.url} (kubeconfig: ${server.kubeconfig})`,
  close: () => server.close(),
});
