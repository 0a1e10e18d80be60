import { existsSync } from 'node:fs';
import { BerthClient, kubeconfigPath, readKubeconfig } from '../client/client.js';
import { atServers, ServerList } from '../client/server-list.js';
import type { Env } from '../env/env.js';
import { realEnv } from '../env/real.js';
import { usageFailure } from './command-failure.js';
import { exitCodes } from './exit-codes.js';
import { KindLookup } from './kind-lookup.js';
import type { Addressed } from './report-failure.js';
import { painted, say } from './terminal.js';

/** What every command that talks to a server can be told. */
export interface ClientOptions {
  readonly config?: string;
  readonly context?: string;
  /** Instead of the servers of the kubeconfig. */
  readonly server?: readonly string[];
  readonly namespace?: string;
  /** In milliseconds. */
  readonly timeout?: number;
}

/** A command's connection to the servers of a cell. */
export interface Session {
  readonly client: BerthClient;
  readonly env: Env;
  readonly namespace: string;
  readonly addressed: Addressed;
  /** The kinds of the server, asked for once. */
  kinds(): Promise<KindLookup>;
}

// What `berth up` writes where nobody says otherwise.
const configBeside = 'berth-data/kubeconfig';
const requestMsUsual = 30_000;

/** Which kubeconfig is meant: --config, $BERTH_CONFIG, $KUBECONFIG, or what `berth up` wrote in this directory. */
export function findConfig(config: string | undefined): string | undefined {
  const isNamed = [config, process.env['BERTH_CONFIG'], process.env['KUBECONFIG']].some(
    (path) => path !== undefined && path !== '',
  );
  if (isNamed) return kubeconfigPath(config);
  return existsSync(configBeside) ? configBeside : undefined;
}

/** The same, where there must be one. */
export function configPathOf(config: string | undefined): string {
  const found = findConfig(config);
  if (found !== undefined) return found;
  throw usageFailure(
    `no server is named: there is no ${configBeside} here and neither --config nor BERTH_CONFIG nor KUBECONFIG is set; start a server with: berth up`,
  );
}

export async function openSession(options: ClientOptions): Promise<Session & { close(): void }> {
  const configPath = configPathOf(options.config);
  const known = await readKubeconfig({ path: configPath, context: options.context });
  const access = options.server === undefined ? known : atServers(known, options.server);
  const env = realEnv();
  const timeoutMs = options.timeout ?? requestMsUsual;
  const client = new BerthClient({
    access,
    env,
    timeoutMs,
    // Somebody sits and waits: a server that is not there is told of at once.
    retries: { attemptsMax: 3, deadlineMs: timeoutMs, backoffMsMin: 50 },
    onWarning: (text) => say(`${painted('yellow', 'warning:', process.stderr)} ${text}`),
  });
  let kinds: Promise<KindLookup> | undefined;
  return {
    client,
    env,
    namespace: options.namespace ?? access.namespace,
    addressed: { urls: ServerList.of(access).urls, configPath },
    kinds: () => (kinds ??= KindLookup.read(client)),
    close: () => client.close(),
  };
}

/** Runs the work of a client command: opens a session, closes it, and turns every error into a line and an exit code. */
export async function inSession(
  options: ClientOptions,
  /** Gives the exit code; for a command that was run elsewhere, whatever it ended with. */
  work: (session: Session) => Promise<number | void>,
): Promise<void> {
  let addressed: Addressed | undefined;
  try {
    const session = await openSession(options);
    addressed = session.addressed;
    try {
      process.exitCode = (await work(session)) ?? exitCodes.done;
    } finally {
      session.close();
    }
  } catch (error) {
    const { reportFailure } = await import('./report-failure.js');
    reportFailure(error, addressed);
  }
}
