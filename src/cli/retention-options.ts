import { InvalidArgumentError, Option } from 'commander';
import { durationOf } from './option-values.js';

/** How long a server keeps things, in milliseconds. */
export interface RetentionFlags {
  readonly history: number;
  readonly eventsTtl: number;
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
