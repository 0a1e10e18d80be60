import { InvalidArgumentError, Option } from 'commander';
import { parseServers } from '../client/server-list.js';
import { parseDurationMs } from '../model/duration.js';
import { nearest } from '../model/nearest.js';

/** Reads a value of the command line as a duration, in milliseconds. */
export const durationOf = (text: string): number => {
  try {
    return parseDurationMs(text);
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message);
  }
};

/** Reads the servers of a cell: URL[,URL…]. */
export const serversOf = (text: string): readonly string[] => {
  try {
    return parseServers(text);
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message);
  }
};

/** Reads a whole number from 1 up. */
export const countOf = (text: string): number => {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('It is a whole number from 1 up.');
  return Number(text);
};

/** Reads a whole number from 0 up. */
export const wholeNumberOf = (text: string): number => {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It is a whole number from 0 up.');
  return Number(text);
};

/** Reads a value that is one of a few words; a typo is told the nearest. */
export const oneOf =
  <T extends string>(allowed: readonly T[]) =>
  (text: string): T => {
    const found = allowed.find((word) => word === text);
    if (found !== undefined) return found;
    const near = nearest(text, allowed);
    const hint = near === undefined ? '' : ` Did you mean ${near}?`;
    throw new InvalidArgumentError(`Allowed choices are ${allowed.join(', ')}.${hint}`);
  };

/** An option whose value is one of a few words. */
export const choiceOption = (flags: string, description: string, allowed: readonly string[]): Option =>
  new Option(flags, `${description}: ${allowed.join(', ')}`).argParser(oneOf(allowed));

/** `-o`, for commands that print objects. */
export const outputOption = (formats: readonly string[] = ['json', 'yaml', 'wide', 'name']): Option =>
  choiceOption('-o, --output <format>', 'how to print it', formats);
