import type { Env } from '../env/env.js';
import { type ExitCode, exitCodes } from './exit-codes.js';

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
  const [{ realEnv }, { isBerthError }] = await Promise.all([
    import('../env/real.js'),
    import('../model/errors.js'),
  ]);
  const fail = (error: unknown): void => {
    const { code, message, address, port } = error as NodeJS.ErrnoException & {
      address?: string;
      port?: number;
    };
    const isExpected =
      isBerthError(error) || ['EADDRINUSE', 'EADDRNOTAVAIL', 'EACCES', 'ENOENT'].includes(code ?? '');
    const said =
      code === 'EADDRINUSE'
        ? `another process listens on ${address} port ${port}; choose another port, or 0 for any that is free`
        : message;
    process.stderr.write(isExpected ? `error: ${said}\n` : `defect: ${(error as Error).stack}\n`);
  };
  // What Berth writes is its own. Jobs set theirs themselves.
  process.umask(0o077);
  try {
    const running = await start({
      env: realEnv(),
      onProblem: (line) => process.stderr.write(`${line}\n`),
      onDefect: fail,
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
    fail(error);
    process.exitCode = isBerthError(error) ? (codes[error.code] ?? exitCodes.error) : exitCodes.error;
  }
}

const codes: Readonly<Partial<Record<string, ExitCode>>> = {
  InvalidStoreAddress: exitCodes.usage,
  InvalidHost: exitCodes.usage,
  InvalidFleet: exitCodes.usage,
  InvalidAgentConfig: exitCodes.usage,
  InvalidPlugin: exitCodes.usage,
  InvalidKubeconfig: exitCodes.usage,
  ServerUnreachable: exitCodes.unreachable,
  Unauthorized: exitCodes.notAllowed,
  Forbidden: exitCodes.notAllowed,
};

/** A server that is ready, as `runUntilStopped` wants it. */
export const readyServer = (server: {
  readonly url: string;
  readonly kubeconfig: string;
  close(): Promise<void>;
}): Running => ({
  ready: `ready ${server.url} (kubeconfig: ${server.kubeconfig})`,
  close: () => server.close(),
});
