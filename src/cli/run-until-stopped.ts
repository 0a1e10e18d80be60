import type { Env } from '../env/env.js';
import { CommandFailure } from './command-failure.js';
import { defectText } from './defect-text.js';
import { exitCodes } from './exit-codes.js';

/** What a server has to know however it is started. */
export interface Surroundings {
  readonly env: Env;
  readonly onProblem: (line: string) => void;
  readonly onDefect: (error: unknown) => void;
}

interface Running {
  /** What is printed when it is ready. */
  readonly ready: string;
  close(): Promise<void>;
}

/** Starts something that goes on, says that it is ready, and stops it cleanly when the process is told to end. */
export async function runUntilStopped(
  start: (surroundings: Surroundings) => Promise<Running>,
): Promise<void> {
  const [{ realEnv }, { reportFailure }] = await Promise.all([
    import('../env/real.js'),
    import('./report-failure.js'),
  ]);
  // What Berth writes is its own. Jobs set theirs themselves.
  process.umask(0o077);
  try {
    const running = await start({
      env: realEnv(),
      onProblem: (line) => process.stderr.write(`${line}\n`),
      onDefect: (error) => process.stderr.write(`defect: ${defectText(error)}\n`),
    });
    const stop = new Promise<void>((resolve) => {
      process.once('SIGINT', () => resolve());
      process.once('SIGTERM', () => resolve());
    });
    process.stdout.write(`${running.ready}\n`);
    await stop;
    process.stderr.write('stopping\n');
    await running.close();
    // Everything is closed: whatever would still keep the process, a command that cannot be killed, is not waited for.
    process.exit();
  } catch (error) {
    reportFailure(portTaken(error) ?? error);
  }
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
