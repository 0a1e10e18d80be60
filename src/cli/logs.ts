import type { Command } from 'commander';
import { isBerthError } from '../client/client.js';
import { wallMs } from '../env/instant.js';
import { clientCommand } from './client-command.js';
import { usageFailure } from './command-failure.js';
import { type ExitCode, exitCodes } from './exit-codes.js';
import { LogPrinter } from './log-printer.js';
import { durationOf, outputOption, wholeNumberOf } from './option-values.js';
import { replicaPath, replicasOf, targetHelp } from './replica-targets.js';
import { type ClientOptions, inSession, type Session } from './session.js';
import { say } from './terminal.js';

interface LogsOptions extends ClientOptions {
  readonly follow?: boolean;
  readonly previous?: boolean;
  /** In milliseconds. */
  readonly since?: number;
  readonly tail?: number;
  readonly timestamps?: boolean;
  readonly output?: 'json';
}

// Each is a connection, here and to its node.
const togetherMax = 50;

export const logsCommand = (): Command =>
  clientCommand('logs', 'show what replicas have written to standard output and standard error')
    .argument('<target>', targetHelp)
    .option('-f, --follow', 'go on as it is written, through restarts, until the replica is over')
    .option('-p, --previous', 'of the execution before the last')
    .option('--since <duration>', 'only what was written within this time', durationOf)
    .option('--tail <lines>', 'only the last lines', wholeNumberOf)
    .option('--timestamps', 'when each line was written')
    .addOption(outputOption(['json']))
    .action((target: string, options: LogsOptions) =>
      inSession(options, async (session): Promise<ExitCode> => {
        const { names, isWorkload } = await replicasOf(session, target);
        if (names.length > togetherMax && options.follow === true)
          throw usageFailure(`${names.length} replicas are too many to follow; ${togetherMax} are possible`);
        const query = queryOf(session, options);
        if (!isWorkload) {
          await show(session, names[0] ?? '', query, new LogPrinter({ ...options, prefix: '' }));
          return exitCodes.done;
        }
        const width = Math.max(...names.map((name) => name.length));
        const each = async (name: string): Promise<boolean> =>
          shownOrTold(
            session,
            name,
            query,
            new LogPrinter({ ...options, prefix: `${name.padEnd(width)} | ` }),
          );
        let isWhole = true;
        if (options.follow === true) isWhole = (await Promise.all(names.map(each))).every(Boolean);
        else for (const name of names) isWhole = (await each(name)) && isWhole;
        return isWhole ? exitCodes.done : exitCodes.error;
      }),
    );

function queryOf(session: Session, { follow, previous, since, tail }: LogsOptions): URLSearchParams {
  const nowMs = wallMs(session.env.clock.wall());
  return new URLSearchParams({
    format: 'json',
    ...(follow === true && { follow: 'true' }),
    ...(previous === true && { previous: 'true' }),
    ...(since !== undefined && { sinceTime: new Date(nowMs - since).toISOString() }),
    ...(tail !== undefined && { tailLines: String(tail) }),
  });
}

async function show(
  session: Session,
  name: string,
  query: URLSearchParams,
  printer: LogPrinter,
): Promise<void> {
  for await (const line of session.client.lines(replicaPath(session, name, 'log'), query))
    await printer.print(line);
  printer.end();
}

/** Of many, one that cannot be shown does not keep the others from it. */
async function shownOrTold(
  session: Session,
  name: string,
  query: URLSearchParams,
  printer: LogPrinter,
): Promise<boolean> {
  try {
    await show(session, name, query, printer);
    return true;
  } catch (error) {
    if (!isBerthError(error)) throw error;
    say(`${name}: ${error.message}`);
    return false;
  }
}
