import { join } from 'node:path';
import type { LogLabels } from '../../model/log-record.js';

/** One file of a replica's output. Files are only ever added to, never renamed: who follows one can trust its name. */
export interface LogFile {
  readonly execution: number;
  /** The first of an execution is 1; the one with the largest number is being written. */
  readonly part: number;
}

const ending = '.jsonl';
const nameOf = /^([1-9]\d{0,8})-([1-9]\d{0,8})\.jsonl$/;
// The rules for names of the API forbid more than this; a path is never made of what could leave its directory.
const safeWord = /^[A-Za-z0-9][A-Za-z0-9.-]*$/;

export const logFileName = ({ execution, part }: LogFile): string => `${execution}-${part}${ending}`;

export function parseLogFileName(name: string): LogFile | undefined {
  const [, execution, part] = nameOf.exec(name) ?? [];
  return execution === undefined ? undefined : { execution: Number(execution), part: Number(part) };
}

/** Where a replica's files are, below the directory of all logs. The uid: a name may be given again, a uid never. */
export function logDirectory(
  logs: string,
  { tenant, replica, uid }: Pick<LogLabels, 'tenant' | 'replica' | 'uid'>,
): string {
  for (const word of [tenant, replica, uid])
    if (!safeWord.test(word)) throw new Error(`${JSON.stringify(word)} cannot be part of a path`);
  return join(logs, tenant, `${replica}_${uid}`);
}

/** The files among these names, as they were written: earlier executions and earlier parts first. */
export const logFilesOf = (names: readonly string[]): LogFile[] =>
  names.flatMap((name) => parseLogFileName(name) ?? []).toSorted(inOrder);

export const inOrder = (a: LogFile, b: LogFile): number => a.execution - b.execution || a.part - b.part;

/**
 * Which files go when an execution begins a new one. It keeps its own newest, and the executions before it the same
 * number together: one that writes much never pushes out what its predecessor said before it ended.
 */
export function surplusFiles(files: readonly LogFile[], execution: number, filesMax: number): LogFile[] {
  const own = files.filter((file) => file.execution >= execution);
  const earlier = files.filter((file) => file.execution < execution);
  return [own, earlier].flatMap((some) => some.toSorted(inOrder).slice(0, -filesMax));
}
