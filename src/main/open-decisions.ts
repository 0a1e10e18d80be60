import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Env } from '../env/env.js';
import type { DecisionLimits, Decisions } from '../model/decisions.js';
import { CellRecords } from '../objects/cell-records.js';
import { DecisionLog } from '../objects/decisions/decision-log.js';
import { type OtherServer, SharedDecisions } from '../objects/decisions/shared-decisions.js';
import type { Store } from '../store/contract.js';
import { singleKey } from '../store/key-range.js';
import { announceEveryMs, CellServers, type ServerRecord } from './cell-servers.js';
import { nowAndThen } from './now-and-then.js';
import type { PeerClients } from './peer-clients.js';
import { peerDecisions } from './peer-decisions.js';

const serverNameKey = '/m/server';

export interface DecisionsOptions {
  /** The directory of this server; its decisions get one of their own in it. */
  readonly dir: string;
  readonly limits: DecisionLimits;
  readonly env: Env;
  readonly onProblem: (line: string) => void;
}

/** The log of this server, in a store of its own beside whatever the cell is kept in. */
export async function openDecisionLog({
  dir,
  limits,
  env,
  onProblem,
}: DecisionsOptions): Promise<{ readonly log: DecisionLog; close(): Promise<void> }> {
  const { LmdbStore } = await import('../store/lmdb.js');
  const store = await LmdbStore.open({ dir: join(dir, 'decisions'), env });
  try {
    const server = await serverName(store, env);
    const log = await DecisionLog.open({ store, env, server, limits, onProblem });
    return {
      log,
      close: async () => {
        await log.close();
        await store.close();
      },
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** The name under which this server's decisions are found, kept with them: after a restart it is the same. */
async function serverName(store: Store, env: Env): Promise<string> {
  const [entry] = (await store.read(singleKey(serverNameKey))).entries;
  if (entry !== undefined) return Buffer.from(entry.value).toString();
  const host = hostname()
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
  const name = `${host.slice(0, 100) || 'server'}-${env.uuid().slice(0, 8)}`;
  const value = Buffer.from(name);
  await store.transact({ guards: [], writes: [{ kind: 'put', key: serverNameKey, value }] });
  return name;
}

export interface SharingOptions {
  readonly log: DecisionLog;
  /** The store that the servers share. */
  readonly store: Store;
  readonly peers: PeerClients;
  /** Where other servers reach this one, if they can. */
  readonly address: string | undefined;
  readonly limits: DecisionLimits;
  readonly env: Env;
  readonly onDefect: (error: unknown) => void;
}

/** The decisions of all servers on one store. Tells the others of this one until it is closed. */
export async function shareDecisions(options: SharingOptions): Promise<{
  readonly decisions: Decisions;
  /** The other servers on the store. */
  readonly others: () => Promise<readonly OtherServer[]>;
  close(): Promise<void>;
}> {
  const { log, store, peers, address, limits, env, onDefect } = options;
  const servers = new CellServers({
    ...{ env, address, name: log.server },
    records: new CellRecords<ServerRecord>(store, 'servers'),
    forgetMs: limits.ageMsMax + announceEveryMs,
  });
  await servers.announce();
  const stop = new AbortController();
  const announcing = nowAndThen({ env, signal: stop.signal, onDefect }, announceEveryMs, () =>
    servers.announce(),
  );
  return {
    decisions: new SharedDecisions({
      local: log,
      others: () => servers.others(),
      ask: (at) => peerDecisions(() => peers.at(at)),
    }),
    others: () => servers.others(),
    close: async () => {
      stop.abort();
      await announcing;
    },
  };
}
