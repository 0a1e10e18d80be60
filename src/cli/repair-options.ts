import { type Command, InvalidArgumentError } from 'commander';
import { countOf, durationOf } from './option-values.js';

export interface RepairFlags {
  readonly repairRate?: number;
  readonly brakeSlow?: number;
  readonly brakeStop?: number;
  readonly brakeHold?: number;
  readonly brakeLinger?: number;
}

/** Reads a share like `30%`. */
const shareOf = (text: string): number => {
  const [, percent] = /^(\d{1,3})%$/.exec(text) ?? [];
  if (percent === undefined || Number(percent) < 1 || Number(percent) > 100)
    throw new InvalidArgumentError('A share is written like 30%.');
  return Number(percent) / 100;
};

/** How fast repair gives work away, and what holds it back. The same on every server of a cell. */
export const withRepairOptions = (command: Command): Command =>
  command
    .option('--repair-rate <n>', 'give away at most so many lost replicas a second (default: 100)', countOf)
    .option(
      '--brake-slow <share>',
      'repair slowly where this share of nodes is silent (default: 30%)',
      shareOf,
    )
    .option('--brake-stop <share>', 'stop repair where this share of nodes is silent (default: 60%)', shareOf)
    .option('--brake-hold <duration>', 'go on slowly after so long (default: 5m)', durationOf)
    .option(
      '--brake-linger <duration>',
      'keep a brake on for so long after most are heard of again (default: 40s)',
      durationOf,
    );

export const repairOf = ({ repairRate, brakeSlow, brakeStop, brakeHold, brakeLinger }: RepairFlags) => ({
  ...(repairRate !== undefined && { ratePerSecond: repairRate }),
  ...(brakeSlow !== undefined && { slowShare: brakeSlow }),
  ...(brakeStop !== undefined && { stopShare: brakeStop }),
  ...(brakeHold !== undefined && { holdMs: brakeHold }),
  ...(brakeLinger !== undefined && { lingerMs: brakeLinger }),
});
