import { type Command, InvalidArgumentError, Option } from 'commander';

export interface SchedulingFlags {
  readonly scheduler: boolean;
  readonly schedulerShards: number;
  readonly plugin: readonly string[];
}

const shardsMax = 64;
const shardsOf = (text: string): number => {
  const shards = Number(text);
  if (!/^\d+$/.test(text) || shards < 1 || shards > shardsMax)
    throw new InvalidArgumentError(`a number of shards is a whole number from 1 to ${shardsMax}.`);
  return shards;
};

/** Whether and how a server schedules. */
export const withSchedulingOptions = (command: Command): Command =>
  command
    .option('--no-scheduler', 'run no scheduler here')
    .addOption(
      new Option(
        '--scheduler-shards <n>',
        'into how many parts workloads are divided, each with a scheduler; the same on every server of a cell',
      )
        .argParser(shardsOf)
        .default(1),
    )
    .option(
      '--plugin <file>',
      'a module of custom filters and scores; may be repeated',
      (file: string, files: readonly string[]) => [...files, file],
      [],
    );

export const schedulingOf = ({ scheduler, schedulerShards, plugin }: SchedulingFlags) =>
  scheduler ? { shards: schedulerShards, plugins: plugin } : undefined;
