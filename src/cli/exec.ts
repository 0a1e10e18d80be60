import type { Command } from 'commander';
import { ExecConnection } from '../client/exec-session.js';
import { errorOfEnd } from '../model/session-stream.js';
import { sessionProtocol } from '../model/sessions.js';
import { clientCommand } from './client-command.js';
import { usageFailure } from './command-failure.js';
import { oneReplicaOf, replicaPath, targetHelp } from './replica-targets.js';
import { type ClientOptions, inSession, type Session } from './session.js';
import { writeOut } from './write-out.js';

interface ExecOptions extends ClientOptions {
  readonly stdin?: boolean;
  readonly tty?: boolean;
}

export const execCommand = (): Command =>
  clientCommand('exec', 'run a command beside a replica, and end as it ends')
    .argument('<target>', `${targetHelp}, then its first replica that is ready`)
    .argument('[command...]', 'the command, after --')
    .option('-i, --stdin', 'pass standard input on')
    .option('-t, --tty', 'give it a terminal')
    .action((target: string, command: string[], options: ExecOptions) =>
      inSession(options, async (session) => {
        if (command.length === 0) throw usageFailure('which command? berth exec TARGET -- COMMAND…');
        return runIn(session, await oneReplicaOf(session, target), command, options);
      }),
    );

async function runIn(
  session: Session,
  replica: string,
  command: readonly string[],
  { stdin, tty }: ExecOptions,
): Promise<number> {
  const input = process.stdin;
  const stdout = process.stdout;
  const isTerminal = tty === true && stdout.isTTY;
  const size = (): { columns: number; rows: number } => ({ columns: stdout.columns, rows: stdout.rows });
  const query = new URLSearchParams(command.map((word): [string, string] => ['command', word]));
  if (tty === true) query.set('tty', 'true');
  if (isTerminal) for (const [name, value] of Object.entries(size())) query.set(name, String(value));
  const socket = await session.client.upgrade(replicaPath(session, replica, 'exec'), query, sessionProtocol);
  const connection = new ExecConnection(socket);
  const isRaw = isTerminal && stdin === true && input.isTTY;
  const onResize = (): void => connection.resize(size());
  if (isTerminal) stdout.on('resize', onResize);
  // What is typed, also Ctrl-C, is for the command.
  if (isRaw) input.setRawMode(true);
  try {
    const end = await connection.run({
      ...(stdin === true && { input }),
      onOutput: (stream, bytes) => writeOut(stream === 'stdout' ? stdout : process.stderr, bytes),
    });
    if (end.exitCode === undefined) throw errorOfEnd(end);
    return end.exitCode;
  } finally {
    if (isRaw) input.setRawMode(false);
    stdout.off('resize', onResize);
  }
}
