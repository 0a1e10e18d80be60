import { Command, InvalidArgumentError } from 'commander';
import { exitCodes } from './exit-codes.js';
import { durationOf } from './option-values.js';
import { packageVersion } from './package-version.js';

const portOf = (text: string): number => {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535)
    throw new InvalidArgumentError('a port is a whole number from 0 to 65535.');
  return port;
};

export const upCommand = (): Command =>
  new Command('up')
    .description('run everything in one process, on an embedded store')
    .option('--dir <dir>', 'where everything is kept', 'berth-data')
    .option('--port <port>', 'where the API listens on 127.0.0.1; 0 for any that is free', portOf, 7443)
    .option(
      '--history <duration>',
      'how long old versions are kept for lists and watches that resume',
      durationOf,
      300_000,
    )
    .action(async ({ dir, port, history }: { dir: string; port: number; history: number }) => {
      // Only this command needs them, and they take a moment to load.
      const [{ up }, { realEnv }, { isBerthError }] = await Promise.all([
        import('../main/up.js'),
        import('../env/real.js'),
        import('../model/errors.js'),
      ]);
      const fail = (error: unknown): void => {
        const { code, message } = error as NodeJS.ErrnoException;
        const isExpected = isBerthError(error) || code === 'EADDRINUSE' || code === 'EACCES';
        process.stderr.write(isExpected ? `error: ${message}\n` : `defect: ${(error as Error).stack}\n`);
      };
      try {
        const running = await up({
          dir,
          port,
          version: packageVersion(),
          historyMs: history,
          env: realEnv(),
          onDefect: fail,
        });
        const stop = new Promise<void>((resolve) => {
          process.once('SIGINT', () => resolve());
          process.once('SIGTERM', () => resolve());
        });
        process.stdout.write(`ready ${running.url} (kubeconfig: ${running.kubeconfig})\n`);
        await stop;
        process.stderr.write('stopping\n');
        await running.close();
      } catch (error) {
        fail(error);
        process.exitCode = exitCodes.error;
      }
    });
