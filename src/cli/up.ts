import { Command, InvalidArgumentError } from 'commander';
import { allowSharedUserOption } from './allow-shared-user-option.js';
import { countOf } from './option-values.js';
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

const portOf = (text: string): number => {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535)
    throw new InvalidArgumentError('a port is a whole number from 0 to 65535.');
  return port;
};

interface UpFlags extends LogFlags, RetentionFlags, RepairFlags, SchedulingFlags {
  readonly dir: string;
  readonly port: number;
  readonly hollow?: number;
  readonly fleet?: string;
  readonly dns?: string;
  readonly agent?: boolean;
  readonly keepJobs?: true;
  readonly allowSharedUser?: true;
}

export const upCommand = (): Command =>
  withLogOptions(
    withRepairOptions(
      withSchedulingOptions(
        new Command('up')
          .description('run everything in one process, on an embedded store')
          .option('--dir <dir>', 'where everything is kept', 'berth-data')
          .option('--port <port>', 'where the API listens on 127.0.0.1; 0 for any that is free', portOf, 7443)
          .option('--agent', 'run the agent of this machine too, beside nodes that are played')
          .option('--no-agent', 'do not make this machine a node')
          .option(
            '--keep-jobs',
            'leave the jobs on this machine running at a clean stop; the next start finds them',
          )
          .addOption(allowSharedUserOption())
          .option('--hollow <count>', 'play so many nodes that run nothing', countOf)
          .option('--fleet <file>', 'play the nodes of a fleet file')
          .option(
            '--dns <address>',
            'answer DNS questions about services (WORKLOAD.TENANT.berth) on ADDRESS:PORT',
          )
          .addOption(historyOption())
          .addOption(eventsTtlOption())
          .addOption(decisionsTtlOption())
          .addOption(decisionsSizeOption()),
      ),
    ),
  ).action((flags: UpFlags) =>
    runUntilStopped(flags, async (surroundings) => {
      // Only this command needs it, and it takes a moment to load.
      const [{ up }, { parseListenAddress }] = await Promise.all([
        import('../main/up.js'),
        import('../main/listen-address.js'),
      ]);
      const running = await up({
        ...surroundings,
        dir: flags.dir,
        port: flags.port,
        agent: agentOf(flags),
        allowsSharedUser: flags.allowSharedUser === true,
        ...(flags.hollow !== undefined && { hollow: flags.hollow }),
        ...(flags.fleet !== undefined && { fleet: flags.fleet }),
        ...(flags.dns !== undefined && { dns: parseListenAddress(flags.dns) }),
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

/** This machine is a node unless it is said otherwise, or other nodes are played. */
function agentOf({ agent, keepJobs, hollow, fleet }: UpFlags): 'None' | 'EndJobs' | 'KeepJobs' {
  const isPlaying = hollow !== undefined || fleet !== undefined;
  if (!(agent ?? !isPlaying)) return 'None';
  return keepJobs === true ? 'KeepJobs' : 'EndJobs';
}
