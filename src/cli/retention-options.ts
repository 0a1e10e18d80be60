import { InvalidArgumentError, Option } from 'commander';
import { type Amount, amountOf } from '../model/amount.js';
import { type DecisionLimits, decisionLimitsDefault } from '../model/decisions.js';
import { durationOf } from './option-values.js';

/** How long a server keeps things, in milliseconds. */
export interface RetentionFlags {
  readonly history: number;
  readonly eventsTtl: number;
  readonly decisionsTtl: number;
  /** In bytes. */
  readonly decisionsSize: number;
}

const eventsTtlOf = (text: string): number => {
  const ttlMs = durationOf(text);
  if (ttlMs < 1_000) throw new InvalidArgumentError('events are kept for 1s or longer.');
  return ttlMs;
};

export const historyOption = (): Option =>
  new Option('--history <duration>', 'how long old versions are kept for lists and watches that resume')
    .argParser(durationOf)
    .default(300_000, '5m');

export const eventsTtlOption = (): Option =>
  new Option('--events-ttl <duration>', 'how long events are kept, from 1s')
    .argParser(eventsTtlOf)
    .default(3_600_000, '1h');

const decisionsBytesMin = 1024 ** 2;

const readAmount = (memory: string): Amount => {
  try {
    return amountOf({ memory });
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message);
  }
};

const sizeOf = (text: string): number => {
  const { memoryBytes = 0 } = readAmount(text);
  if (memoryBytes < decisionsBytesMin) throw new InvalidArgumentError('a size is 1Mi or more.');
  return memoryBytes;
};

const decisionsTtlOf = (text: string): number => {
  const ttlMs = durationOf(text);
  if (ttlMs < 60_000) throw new InvalidArgumentError('decisions are kept for 1m or longer.');
  return ttlMs;
};

export const decisionsTtlOption = (): Option =>
  new Option('--decisions-ttl <duration>', 'how long scheduling decisions are kept, from 1m')
    .argParser(decisionsTtlOf)
    .default(decisionLimitsDefault.ageMsMax, '24h');

export const decisionsSizeOption = (): Option =>
  new Option('--decisions-size <bytes>', 'how much of them is kept on disk; past it the oldest go')
    .argParser(sizeOf)
    .default(decisionLimitsDefault.bytesMax, '256Mi');

export const decisionLimitsOf = ({ decisionsTtl, decisionsSize }: RetentionFlags): DecisionLimits => ({
  ageMsMax: decisionsTtl,
  bytesMax: decisionsSize,
});
