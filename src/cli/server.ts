import { readFileSync } from 'node:fs';
import { Command, InvalidArgumentError } from 'commander';
import { type LogFlags, withLogOptions } from './log-options.js';
import { packageVersion } from './package-version.js';
import {
  decisionLimitsOf,
  decisionsSizeOption,
  decisionsTtlOption,
  eventsTtlOption,
  historyOption,
  type RetentionFlags,
} from './retention-options.js';
import { repairOf, type RepairFlags, withRepairOptions } from './repair-options.js';
import { schedulingOf, type SchedulingFlags, withSchedulingOptions } from './scheduling-options.js';
import { runUntilStopped, readyServer } from './run-until-stopped.js';

interface ServerFlags extends LogFlags, RetentionFlags, RepairFlags, SchedulingFlags {
  readonly store: string;
  readonly storeCa?: string;
  readonly storeCert?: string;
  readonly storeKey?: string;
  readonly dir: string;
  readonly listen: string;
  readonly dns?: string;
  readonly host: readonly string[];
  readonly advertise?: string;
}

const httpsUrlOf = (text: string): string => {
  if (!URL.canParse(text) || new URL(text).protocol !== 'https:')
    throw new InvalidArgumentError('an https URL is needed.');
  return text;
};

export const serverCommand = (): Command =>
  withLogOptions(
    withRepairOptions(
      withSchedulingOptions(
        new Command('server')
          .description('run the API server of a cell, alone or beside others on one etcd')
          .requiredOption('--store <address>', 'where the cell is kept: lmdb:DIR or etcd:URL[,URL…]')
          .option('--store-ca <file>', "the CA of etcd's certificates, PEM")
          .option('--store-cert <file>', 'the certificate to show to etcd, PEM')
          .option('--store-key <file>', 'its key, PEM')
          .option('--dir <dir>', "for this server's certificates, audit log and kubeconfig", 'berth-data')
          .option('--listen <address>', 'where the API listens: ADDRESS:PORT', '127.0.0.1:7443')
          .option(
            '--dns <address>',
            'answer DNS questions about services (WORKLOAD.TENANT.berth) on ADDRESS:PORT',
          )
          .option(
            '--host <name>',
            'a name or address under which clients reach this server, for its certificate; may be repeated',
            (name: string, names: readonly string[]) => [...names, name],
            [],
          )
          .option(
            '--advertise <url>',
            'where the other servers of the cell reach this one, if not where it listens',
            httpsUrlOf,
          )
          .addOption(historyOption())
          .addOption(eventsTtlOption())
          .addOption(decisionsTtlOption())
          .addOption(decisionsSizeOption()),
      ),
    ),
  ).action((flags: ServerFlags) =>
    runUntilStopped(flags, async (surroundings) => {
      const [{ server }, { parseStoreAddress }, { parseListenAddress }] = await Promise.all([
        import('../main/server.js'),
        import('../main/store-address.js'),
        import('../main/listen-address.js'),
      ]);
      const etcdTls = tlsOf(flags);
      const running = await server({
        ...surroundings,
        store: parseStoreAddress(flags.store),
        ...(etcdTls === undefined ? {} : { etcdTls }),
        dir: flags.dir,
        listen: parseListenAddress(flags.listen),
        ...(flags.dns !== undefined && { dns: parseListenAddress(flags.dns) }),
        hosts: flags.host,
        ...(flags.advertise !== undefined && { advertise: flags.advertise }),
        version: packageVersion(),
        historyMs: flags.history,
        eventsTtlMs: flags.eventsTtl,
        decisionLimits: decisionLimitsOf(flags),
        scheduling: schedulingOf(flags),
        repair: repairOf(flags),
      });
      return readyServer(running);
    }),
  );

function tlsOf({ storeCa, storeCert, storeKey }: ServerFlags) {
  if (storeCa === undefined && storeCert === undefined && storeKey === undefined) return undefined;
  return {
    ...(storeCa === undefined ? {} : { ca: readFileSync(storeCa) }),
    ...(storeCert === undefined ? {} : { cert: readFileSync(storeCert) }),
    ...(storeKey === undefined ? {} : { key: readFileSync(storeKey) }),
  };
}
